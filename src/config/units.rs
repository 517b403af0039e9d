//! Sizes and times with suffixes, for `highwater.` settings only: Kafka's keys take bare numbers.

const BYTE_UNITS: &[(&str, i64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
    ("", 1),
];

const MILLIS_UNITS: &[(&str, i64)] =
    &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("", 1)];

/// Bytes from `1048576`, `1024KiB`, `1 MiB`.
pub(super) fn parse_bytes(text: &str) -> Result<i64, String> {
    parse(text, BYTE_UNITS)
        .ok_or_else(|| "Expected bytes, such as 1048576, 64KiB, 256MiB or 2GiB".to_owned())
}

/// Milliseconds from `500`, `500ms`, `30s`, `5m`, `1h`, `7d`.
pub(super) fn parse_millis(text: &str) -> Result<i64, String> {
    parse(text, MILLIS_UNITS)
        .ok_or_else(|| "Expected a time, such as 500ms, 30s, 5m, 1h or 7d".to_owned())
}

fn parse(text: &str, units: &[(&str, i64)]) -> Option<i64> {
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'-').count();
    let (number, suffix) = text.split_at(digits);
    let suffix = suffix.trim_start();
    let (_, factor) = units.iter().find(|(unit, _)| unit.eq_ignore_ascii_case(suffix))?;
    number.parse::<i64>().ok()?.checked_mul(*factor)
}
