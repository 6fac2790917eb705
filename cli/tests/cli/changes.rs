//! `remap`: its options and its answers.

use crate::{file, json, run, stdout};

#[test]
fn changes_are_applied_in_the_order_of_the_line() {
    let moved = |changes: &str| {
        json(&format!(
            "remap --strategy rendezvous --nodes a,b --range 0..300 {changes}"
        ))
    };
    assert_eq!(moved("--add c --reweight c=0")["moved"], 0);
    assert_eq!(moved("--remove b --add b")["moved"], 0);
    assert_eq!(
        moved("--add c --remove c --add c=0 --reweight c=2 --remove a")["ideal_share"],
        2.0 / 3.0
    );
    let wrong = run("remap --nodes a,b --range 0..300 --reweight c=0 --add c");
    assert_eq!(wrong.status.code(), Some(2));
    let to = file("to.json", r#"[{"name":"b"},{"name":"c","weight":2}]"#);
    let by_file = moved(&format!("--to-nodes-file {}", to.display()));
    assert_eq!(by_file, moved("--remove a --add c=2"));
}

/// The order is one that even jump can follow: leaves from the last, weights, then joins.
#[test]
fn a_file_of_nodes_is_reached_in_one_order() {
    let to = file("order.csv", "name,weight\ne,1\na,2\nb,1\nf,1\n");
    let line = format!("remap --nodes a,b,c,d --to-nodes-file {}", to.display());
    let text = stdout(&format!("{line} --range 0..99"));
    assert_eq!(
        text.lines().nth(1),
        Some("Change: remove d, remove c, reweight a=2, add e, add f.")
    );
    let to = file("order-jump.csv", "name\na\nx\ny\n");
    let line = format!(
        "remap --strategy jump --nodes a,b,c --to-nodes-file {}",
        to.display()
    );
    assert_eq!(json(&format!("{line} --range 0..99"))["keys"], 99);
}

#[test]
fn flows_count_bytes_where_sizes_are_known() {
    let keys = file("moved.csv", "key,size\na,7\nb,9\n");
    let line = "remap --nodes n --reweight n=0 --format csv";
    assert_eq!(
        stdout(&format!("{line} --csv {}", keys.display())),
        "from,to,keys,bytes,share\nn,,2,16,1.0\n"
    );
    assert_eq!(
        stdout(&format!("{line} --range 0..3")),
        "from,to,keys,bytes,share\nn,,3,,1.0\n"
    );
}
