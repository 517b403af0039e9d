//! Where a reader begins, as `--from` says it.

use std::str::FromStr;
use std::time::Duration;

use crate::types::Timestamp;

/// Where to begin in each partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The first record there is.
    Beginning,
    /// What comes from now on.
    End,
    /// This offset.
    Offset(i64),
    /// So many records before the end.
    Last(i64),
    /// The first record at or after this time.
    Time(Timestamp),
    /// The first record that is no older.
    Age(Duration),
}

const EXPECTED: &str = "expected beginning, end, an offset, -N, @MILLISECONDS, or @ and an age such as 30s, 15m, 2h, 7d";

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "beginning" => return Ok(Self::Beginning),
            "end" => return Ok(Self::End),
            _ => {}
        }
        let parsed = if let Some(time) = text.strip_prefix('@') {
            moment(time)
        } else if let Some(count) = text.strip_prefix('-') {
            number(count).map(Self::Last)
        } else {
            number(text).map(Self::Offset)
        };
        parsed.ok_or_else(|| EXPECTED.to_owned())
    }
}

fn moment(text: &str) -> Option<From> {
    if let Some(millis) = number(text) {
        return Some(From::Time(Timestamp::new(millis)));
    }
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let count = number(&text[..text.len() - 1])?;
    let seconds = count.unsigned_abs().checked_mul(unit)?;
    Some(From::Age(Duration::from_secs(seconds)))
}

/// Digits only: no sign, no blanks.
fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_say_it_is_understood() {
        let from = |text: &str| text.parse::<From>();
        assert_eq!(from("beginning"), Ok(From::Beginning));
        assert_eq!(from("end"), Ok(From::End));
        assert_eq!(from("4711"), Ok(From::Offset(4711)));
        assert_eq!(from("-10"), Ok(From::Last(10)));
        assert_eq!(from("@1700000000000"), Ok(From::Time(Timestamp::new(1_700_000_000_000))));
        assert_eq!(from("@15m"), Ok(From::Age(Duration::from_secs(900))));
        assert_eq!(from("@7d"), Ok(From::Age(Duration::from_secs(604_800))));
    }

    #[test]
    fn anything_else_is_refused_with_what_is_possible() {
        for text in [
            "",
            "-",
            "@",
            "@m",
            "@-5m",
            "--5",
            "+5",
            "5m",
            "@5y",
            "latest",
            "@99999999999999999999d",
        ] {
            assert_eq!(text.parse::<From>(), Err(EXPECTED.to_owned()), "{text}");
        }
    }
}
