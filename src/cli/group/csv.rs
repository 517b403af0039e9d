//! Offsets as lines of text, as Kafka's tool reads and writes them: `topic,partition,offset`, or with the group in front.

use crate::types::PartitionIndex;

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Topic.
    pub(super) topic: String,
    /// Partition.
    pub(super) partition: PartitionIndex,
    /// Offset.
    pub(super) offset: i64,
}

/// The entries of a file that are about `group`: lines of three fields, and those of four that name it. What is wrong, with
/// its line, if a line is neither.
pub(super) fn read(text: &str, group: &str) -> Result<Vec<Entry>, String> {
    let mut entries: Vec<Entry> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = |what: &str| format!("line {}: {what}", index + 1);
        if line.trim().is_empty() {
            continue;
        }
        let fields = fields(line).ok_or_else(|| at("a quote is not closed"))?;
        let fields: Vec<&str> = fields.iter().map(|field| field.trim()).collect();
        let [topic, partition, offset] = match fields[..] {
            [topic, partition, offset] => [topic, partition, offset],
            [name, topic, partition, offset] if name == group => [topic, partition, offset],
            [_, _, _, _] => continue,
            _ => return Err(at("expected topic,partition,offset")),
        };
        let partition = number(partition).and_then(|index| i32::try_from(index).ok());
        let partition = partition.ok_or_else(|| at("the partition is no number"))?;
        let offset = number(offset).ok_or_else(|| at("the offset is no number"))?;
        let partition = PartitionIndex::new(partition);
        if entries.iter().any(|entry| entry.topic == topic && entry.partition == partition) {
            return Err(at(&format!("{topic}-{partition} is there twice")));
        }
        entries.push(Entry { topic: topic.to_owned(), partition, offset });
    }
    Ok(entries)
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Fields between commas; one in double quotes may hold commas, and quotes written twice. `None` if a quote stays open.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let field = fields.last_mut()?;
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => field.push(other),
        }
    }
    (!quoted).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(topic: &str, partition: i32, offset: i64) -> Entry {
        Entry { topic: topic.to_owned(), partition: PartitionIndex::new(partition), offset }
    }

    #[test]
    fn both_forms_of_kafkas_tool_are_read() {
        let plain = "t,0,5\n\nu,12,0\r\n";
        assert_eq!(read(plain, "g"), Ok(vec![entry("t", 0, 5), entry("u", 12, 0)]));
        let with_groups = "g,t,0,5\nother,t,0,6\n\"g\",\"t\",1,7\n";
        assert_eq!(read(with_groups, "g"), Ok(vec![entry("t", 0, 5), entry("t", 1, 7)]));
        let strange_group = "\"a,\"\"b\"\"\",t,0,5\n";
        assert_eq!(read(strange_group, "a,\"b\""), Ok(vec![entry("t", 0, 5)]));
        assert_eq!(read("", "g"), Ok(Vec::new()));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, error) in [
            ("t,0\n", "line 1: expected topic,partition,offset"),
            ("t,0,1\ng,t,0,1,5\n", "line 2: expected topic,partition,offset"),
            ("t,x,1\n", "line 1: the partition is no number"),
            ("t,-1,1\n", "line 1: the partition is no number"),
            ("t,99999999999,1\n", "line 1: the partition is no number"),
            ("t,0,\n", "line 1: the offset is no number"),
            ("t,0,-5\n", "line 1: the offset is no number"),
            ("t,0,1\nt,0,2\n", "line 2: t-0 is there twice"),
            ("\"t,0,1\n", "line 1: a quote is not closed"),
        ] {
            assert_eq!(read(text, "g"), Err(error.to_owned()), "{text}");
        }
    }
}
