//! Messages of `slots` about wrong input.

use crate::messages::check_messages;
use crate::slots::DATA;
use crate::{file, stdout};

const BAD: &str = r#"
slots => Usage
slots kye => unrecognized | kye
slots key => no keys | KEY | --keys
slots key k --keys f => KEY | --keys
slots key k --table DIR/missing => TABLE | missing | os error
slots key k --table DIR/slots-bad.txt => TABLE | line 1
slots check => KEYS-FILE
slots check DIR/missing => KEYS-FILE | missing | os error
slots check DIR/slots-none.txt => KEYS-FILE | no keys
slots check f --csv g => --csv | KEYS-FILE
slots check --csv DIR/missing.csv => --csv | missing.csv | os error
slots check --csv DIR/slots-bad.csv => --csv | line 2 | whole number
slots check --csv f --max-cross 3 => --csv | --max-cross
slots check f --max-tag 2 => --max-tag | from 0 to 1
slots check f --max-slot many => --max-slot | from 0 to 1
slots check f --max-cross -1 => -1
slots show => TABLE
slots show DIR/missing => TABLE | missing | os error
slots show DIR => TABLE | os error
slots show - => TABLE - | the text is empty
slots show DIR/slots-none.txt => TABLE | the text is empty
slots show DIR/slots-bad.txt => TABLE | line 1
slots show DIR/slots-binary.txt => TABLE | line 2 is not UTF-8
slots plan DATA/nodes_stable.txt => nothing to plan | --add | --even | --finish
slots plan DATA/nodes_migrating.txt --even => 1 slot is on the move | --finish
slots plan DATA/nodes_stable.txt --add 127.0.0.1:27004 => --add | a replica | expected a primary
slots plan DATA/nodes_stable.txt --add n4=0 => --add n4=0 | at least 1
slots plan DATA/nodes_stable.txt --add n4=x => --add n4=x | whole number
slots plan DATA/nodes_stable.txt --add n4@nowhere => --add n4@nowhere | HOST:PORT
slots plan DATA/nodes_stable.txt --add 'two words' => --add two words | HOST:PORT
slots plan DATA/nodes_stable.txt --add 'two words@h:1' => --add two words@h:1 | id
slots plan DATA/nodes_stable.txt --add @10.0.0.4:6379 => --add | name
slots plan DATA/nodes_stable.txt --add n4@h:1 --add n4@h:1 => --add n4@h:1 | already
slots plan DATA/nodes_stable.txt --add fac8 => --add fac8 | neither a node of the table | ID@HOST:PORT
slots plan DATA/nodes_stable.txt --add 10.0.0.4: => --add 10.0.0.4: | HOST:PORT
slots plan DATA/nodes_stable.txt --add n4@127.0.0.1:27001 => --add n4@127.0.0.1:27001 | belongs to fac98630
slots plan DATA/nodes_stable.txt --add n4@127.0.0.1:027001 => belongs to fac98630
slots plan DATA/nodes_stable.txt --add n4@h:1 --add n5@h:01 => --add n5@h:01 | belongs to n4
slots plan DIR/slots-twins.txt --add node-a@10.0.0.9:1 => --add node-a@10.0.0.9:1 | has this node at 10.0.0.1:1
slots plan DATA/nodes_stable.txt --remove n4 => --remove n4 | not in the table | host:port
slots plan DATA/nodes_stable.txt --remove fac => --remove fac | not in the table | 4
slots plan DATA/nodes_stable.txt --remove fac9 --weight fac9=2 => --weight fac9=2 | already named by --remove
slots plan DATA/nodes_stable.txt --weight fac9 => --weight fac9 | NODE=WEIGHT
slots plan DATA/nodes_stable.txt --weight fac9=-1 => -1 | whole number
slots plan DATA/nodes_stable.txt --weight fac9=0 --weight 5559=0 --weight f74f=0 => weights | at least one primary
slots plan DATA/nodes_failed.txt --even => promote its replica first
slots plan DATA/nodes_failed.txt --weight f74f=2 => --weight f74f=2 | failed
slots plan DIR/slots-twins.txt --remove node => --remove node | node-a and node-b
slots plan DATA/nodes_importing.txt --finish --commands atomic => on the move already | classic
slots plan DIR/slots-dead.txt --finish --commands classic => bbbb | restart it
slots plan DATA/nodes_stable.txt --even --finish => --finish | --even
slots plan DATA/nodes_stable.txt --even --budget 0 => --budget
slots plan DATA/nodes_stable.txt --add n4@h:1 --budget 4000 --step 3 => --step 3 | 2 steps
slots plan DATA/nodes_stable.txt --add n4@h:1 --step 0 => --step 0 | counted from 1
slots plan DATA/nodes_stable.txt --even --batch 9 => --commands
slots plan DATA/nodes_stable.txt --even --timeout 9 => --commands
slots plan DATA/nodes_stable.txt --even --commands atomic --batch 9 => --batch | atomic
slots plan DATA/nodes_stable.txt --even --commands atomic --timeout 9 => --timeout | atomic
slots plan DATA/nodes_stable.txt --even --load-budget 9 => --loads
slots plan DATA/nodes_stable.txt --even --loads DIR/slots-loads.csv --by keys => line 1 | slot,load | --by keys
slots plan DATA/nodes_stable.txt --even --loads DIR/slots-keys.csv --by requests => line 1: no column "requests"
slots plan DATA/nodes_stable.txt --even --by keys => --loads
slots plan DATA/nodes_stable.txt --even --loads DIR/missing.csv => --loads | missing.csv | os error
slots plan DATA/nodes_stable.txt --even --loads DIR/slots-high.csv => --loads | line 3 | 16384,1 | 0 to 16383
slots plan DATA/nodes_stable.txt --even --loads DIR/slots-twice.csv => --loads | line 3 | each slot once
slots plan DATA/nodes_stable.txt --even --loads DIR/slots-load.csv => --loads | line 2 | whole number
slots plan DATA/nodes_stable.txt --even --loads DIR/slots-half.csv => --loads | no column "load"
slots plan DATA/nodes_stable.txt --even --loads DIR/slots-keys.csv --by bytes => --loads | "size" | --by bytes
slots plan DATA/nodes_stable.txt --add 10.0.0.4:6379 --commands classic => the id is unknown | ID@10.0.0.4:6379
slots plan DATA/nodes_stable.txt --add n4@h:1 --commands magic => magic | classic | atomic
slots plan DATA/nodes_stable.txt --add n4@h:1 --commands classic --format csv => --format | table or json
slots plan DATA/nodes_stable.txt --add n4@h:1 --commands classic --batch 0 => --batch
slots plan DATA/nodes_stable.txt --add n4@h:1 --commands sh --format json => --format | expected table | script
slots plan DATA/nodes_stable.txt --add 10.0.0.4:6379 --commands sh => the id is unknown | ID@10.0.0.4:6379
slots plan DATA/nodes_stable.txt --even --loads f --scan g => --loads | --scan
slots plan DATA/nodes_stable.txt --even --scan DIR/slots-none.txt => --scan | no keys
slots plan DATA/nodes_stable.txt --even --keys DIR/slots-keys.csv --by bytes => --keys | without bytes
slots show DIR/slots-noauth.txt => TABLE | line 1 | NOAUTH | REDISCLI_AUTH
slots simulate DATA/nodes_stable.txt => nothing to plan | --add
slots simulate DATA/nodes_failed.txt --add n4@h:1 => 10923-15494 | not served
slots simulate DATA/nodes_migrating.txt --add n4@h:1 => 15495 | on the move
slots simulate --keys 3 => --keys
slots simulate --clients 0 => --clients
slots simulate --mistake magic => magic | keys-left
"#;

#[test]
fn every_bad_input_about_slots_has_one_clear_message() {
    let files: &[(&str, &[u8])] = &[
        ("slots-bad.txt", b"what is this\n"),
        ("slots-none.txt", b""),
        ("slots-bad.csv", b"key,size\na,many\n"),
        ("slots-binary.txt", b"a\n\xff\n"),
        ("slots-high.csv", b"slot,load\n1,1\n16384,1\n"),
        ("slots-twice.csv", b"slot,load\n1,1\n1,2\n"),
        ("slots-load.csv", b"slot,load\n1,much\n"),
        ("slots-loads.csv", b"slot,load\n1,1\n"),
        (
            "slots-dead.txt",
            b"aaaa 10.0.0.1:1@2 myself,master - 0 0 1 connected 0-16383 [7->-bbbb]\nbbbb 10.0.0.2:1@2 master,fail - 0 0 2 connected\n",
        ),
        ("slots-noauth.txt", b"NOAUTH Authentication required.\n"),
        ("slots-half.csv", b"slot\n1\n"),
        ("slots-keys.csv", b"key\na\n"),
        (
            "slots-twins.txt",
            b"node-a 10.0.0.1:1@2 master - 0 0 1 connected 0-16383\nnode-b 10.0.0.2:1@2 master - 0 0 2 connected\n",
        ),
    ];
    for (name, content) in files {
        file(name, content);
    }
    check_messages(&BAD.replace("DATA", DATA));
}

#[test]
fn every_help_fits_a_terminal_and_has_examples() {
    for name in ["", "key", "check", "show", "plan", "simulate"] {
        let help = stdout(&format!("slots {name} --help"));
        let wide = help.lines().find(|line| line.chars().count() > 100);
        assert!(
            help.contains("Examples:") && wide.is_none(),
            "{name}: {wide:?}"
        );
    }
}
