//! Command lines that reproduce a figure.

use core::fmt::Display;
use std::path::Path;

use hashroute::{Change, Node};

use crate::args::{KeyArgs, NodeArgs, TuningArgs, parse_node};

/// A command of this program with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Shell(Vec<String>);

impl Shell {
    /// Starts a command line with a command of this program.
    pub(crate) fn new(command: &str) -> Self {
        let words = ["hashroute"].into_iter().chain(command.split(' '));
        Self(words.map(Into::into).collect())
    }

    /// Adds an option, if it has a value.
    pub(crate) fn with(mut self, option: &str, value: Option<impl Display>) -> Self {
        match value.map(|value| value.to_string()) {
            // As a word of its own, the value would look like an option.
            Some(value) if value.starts_with('-') && value != "-" => {
                self.0.push(format!("{option}={value}"));
            }
            Some(value) => self.0.extend([option.into(), value]),
            None => {}
        }
        self
    }

    /// Adds an option without a value, if it is given.
    pub(crate) fn flag(mut self, option: &str, given: bool) -> Self {
        self.0.extend(given.then(|| option.into()));
        self
    }

    /// Adds an option that takes a file, if it has one.
    pub(crate) fn with_file(self, option: &str, path: Option<&Path>) -> Self {
        self.with(option, path.map(Path::display))
    }

    /// Adds the options for the nodes.
    pub(crate) fn nodes(self, args: &NodeArgs) -> Self {
        self.with("--nodes", args.nodes.as_ref())
            .with("--count", args.count)
            .with_file("--nodes-file", args.nodes_file.as_deref())
            .with_file("--config", args.config.as_deref())
            .with("--pool", args.pool.as_ref())
    }

    /// Adds the strategy options; of `--set`, only the parameters that the command knows.
    pub(crate) fn tuning(self, args: &TuningArgs, knows: &dyn Fn(&str) -> bool) -> Self {
        let name = |set: &str| set.split('=').next().is_some_and(knows);
        let sets = args.set.iter().filter(|set| name(set));
        sets.fold(self, |shell, set| shell.with("--set", Some(set)))
            .with("--hash", args.hash.as_ref())
            .with("--hash-seed", args.hash_seed.as_ref())
            // The key is secret; whoever runs the command knows it.
            .with("--hash-key", args.hash_key.as_ref().map(|_| "HEX32"))
            .with("--hash-tag", args.hash_tag.as_ref())
            .with("--dialect", args.dialect.as_ref())
    }

    /// Adds the options for the keys.
    pub(crate) fn keys(mut self, args: &KeyArgs) -> Self {
        let lists = [
            ("--keys", &args.keys),
            ("--csv", &args.csv),
            ("--jsonl", &args.jsonl),
        ];
        for (option, path) in lists
            .iter()
            .flat_map(|(option, list)| list.iter().map(move |path| (option, path)))
        {
            self = self.with_file(option, Some(path));
        }
        let files = [
            ("--bigkeys", &args.dump.bigkeys),
            ("--memkeys", &args.dump.memkeys),
            ("--keystats", &args.dump.keystats),
            ("--scan", &args.dump.scan),
            ("--metadump", &args.dump.metadump),
        ];
        for (option, path) in files {
            self = self.with_file(option, path.as_deref());
        }
        self.with("--template", args.template.as_ref())
            .with("--range", args.range.as_ref())
            .with("--key-column", args.key_column.as_ref())
            .with("--size-column", args.size_column.as_ref())
            .with("--requests-col", args.requests_column.as_ref())
            .flag("--raw", args.raw)
            .flag("--strict", args.strict)
    }

    /// Adds the option for a change.
    pub(crate) fn change(self, change: &Change) -> Self {
        match change {
            Change::Add(node) => self.add(node),
            Change::Remove(name) => self.with("--remove", Some(name)),
            Change::Reweight(name, weight) => {
                self.with("--reweight", Some(format!("{name}={weight}")))
            }
            _ => self,
        }
    }

    fn add(self, node: &Node) -> Self {
        let (name, weight) = (node.name(), node.weight());
        let is_same = |read: Node| read.name() == name && read.weight() == 1;
        let plain = weight == 1 && parse_node(name).is_ok_and(is_same);
        let weight = if plain {
            String::new()
        } else {
            format!("={weight}")
        };
        self.with("--add", Some(format!("{name}{weight}")))
    }
}

/// Writes the command on one line.
impl Display for Shell {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let words: Vec<_> = self.0.iter().map(|word| quoted(word)).collect();
        f.write_str(&words.join(" "))
    }
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_words_as_they_are() {
        let words = ["a,b=2", "user:{i}", "it's", "$(rm)", "", "a b"].map(quoted);
        assert_eq!(
            words,
            [
                "a,b=2",
                "'user:{i}'",
                r"'it'\''s'",
                "'$(rm)'",
                "''",
                "'a b'"
            ]
        );
    }

    #[test]
    fn keys_of_hashes_stay_secret() {
        let tuning = TuningArgs {
            set: vec!["points=8".into(), "load=2".into()],
            hash: Some("sip24".into()),
            hash_seed: None,
            hash_key: Some("00112233445566778899aabbccddeeff".into()),
            hash_tag: None,
            dialect: None,
        };
        let shell = Shell::new("draw ring").tuning(&tuning, &|name| name == "points");
        assert_eq!(
            shell.change(&Change::Add(Node::new("d=e"))).to_string(),
            "hashroute draw ring --set points=8 --hash sip24 --hash-key HEX32 --add d=e=1"
        );
        let remap = Shell::new("remap").change(&Change::remove("-x"));
        assert_eq!(remap.to_string(), "hashroute remap --remove=-x");
    }
}
