//! Times and durations as ISO 8601 writes them.

use std::time::Duration;

use crate::types::Timestamp;

const MOMENT: &str = "expected a date and time such as 2026-05-01T08:00:00, 2026-05-01T08:00:00.250Z or 2026-05-01T10:00+02:00; UTC unless it says otherwise";
const DURATION: &str = "expected a duration such as PT15M, PT1H30M, P7D or P1DT12H";

const MILLIS_PER_DAY: i64 = 86_400_000;

/// A point in time: a date, perhaps a time of day (to minutes, seconds or fractions of them), perhaps an offset from UTC.
pub(super) fn moment(text: &str) -> Result<Timestamp, String> {
    parse_moment(text).map(Timestamp::new).ok_or_else(|| MOMENT.to_owned())
}

/// A duration of days, hours, minutes and seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| DURATION.to_owned())
}

/// The same in UTC, with milliseconds; what is no time stays a number.
pub(super) fn written(at: Timestamp) -> String {
    let millis = at.get();
    // Year 9999 is the last that ISO 8601 writes without agreement.
    if !(0..253_402_300_800_000).contains(&millis) {
        return millis.to_string();
    }
    let (year, month, day) = civil(millis / MILLIS_PER_DAY);
    let of_day = millis % MILLIS_PER_DAY;
    let (seconds, millis) = (of_day / 1000, of_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date of a day counted from 1970, not negative.
fn civil(days: i64) -> (i64, i64, i64) {
    // Eras of 400 years from the first of March 0000, so that leap days come last.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn parse_moment(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T').unwrap_or((text, "00:00"));
    let (time, zone_millis) = split_zone(time)?;
    let local = days(date)?.checked_mul(MILLIS_PER_DAY)? + millis_of_day(time)?;
    // Before 1970 there are no records, and −1 means "no time".
    Some(local - zone_millis).filter(|millis| *millis >= 0)
}

/// Time of day and the offset of its zone.
fn split_zone(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix('Z') {
        return Some((time, 0));
    }
    let Some(at) = text.find(['+', '-']) else { return Some((text, 0)) };
    let (time, zone) = text.split_at(at);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits = zone[1..].replace(':', "");
    let (hours, minutes) = match digits.len() {
        2 => (digits.as_str(), "00"),
        4 => digits.split_at(2),
        _ => return None,
    };
    let minutes = number(hours, 2, 0..=18)? * 60 + number(minutes, 2, 0..=59)?;
    Some((time, sign * minutes * 60_000))
}

/// Days since 1970-01-01 of a date in the Gregorian calendar (the civil-from-days arithmetic of Howard Hinnant).
fn days(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let year = number(parts.next()?, 4, 1970..=9999)?;
    let month = number(parts.next()?, 2, 1..=12)?;
    let day = number(parts.next()?, 2, 1..=days_in(year, month))?;
    if parts.next().is_some() {
        return None;
    }
    // Years begin in March here, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468)
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn millis_of_day(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let hours = number(parts.next()?, 2, 0..=23)?;
    let minutes = number(parts.next()?, 2, 0..=59)?;
    let (seconds, fraction) = match parts.next() {
        Some(seconds) => seconds.split_once(['.', ',']).unwrap_or((seconds, "0")),
        None => ("00", "0"),
    };
    if parts.next().is_some() {
        return None;
    }
    let seconds = number(seconds, 2, 0..=59)?;
    Some((hours * 60 + minutes) * 60_000 + seconds * 1_000 + millis(fraction)?)
}

/// Milliseconds of a decimal fraction of a second; what is finer is dropped.
fn millis(fraction: &str) -> Option<i64> {
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let padded = format!("{fraction}00");
    padded.get(..3)?.parse().ok()
}

/// A number of exactly `len` digits within a range.
fn number(text: &str, len: usize, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    let digits = text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|value| digits && range.contains(value))
}

fn parse_duration(text: &str) -> Option<Duration> {
    let (days, times) = match text.strip_prefix('P')?.split_once('T') {
        Some((days, times)) if !times.is_empty() => (days, times),
        Some(_) => return None,
        None => (&text[1..], ""),
    };
    if days.is_empty() && times.is_empty() {
        return None;
    }
    let days = amounts(days, &[('D', 86_400)])?;
    let times = amounts(times, &[('H', 3_600), ('M', 60), ('S', 1)])?;
    days.checked_add(times)
}

/// The sum of amounts with their units, each unit at most once and in this order.
fn amounts(mut text: &str, units: &[(char, u64)]) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    for (unit, seconds) in units {
        let Some((amount, rest)) = text.split_once(*unit) else { continue };
        text = rest;
        let (whole, fraction) = match amount.split_once('.') {
            Some((whole, fraction)) if *unit == 'S' => (whole, millis(fraction)?),
            Some(_) => return None,
            None => (amount, 0),
        };
        let digits = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
        let whole: u64 = whole.parse().ok().filter(|_| digits)?;
        let fraction = Duration::from_millis(u64::try_from(fraction).ok()?);
        let amount = Duration::from_secs(whole.checked_mul(*seconds)?);
        sum = sum.checked_add(amount)?.checked_add(fraction)?;
    }
    text.is_empty().then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis_of(text: &str) -> i64 {
        moment(text).unwrap_or_else(|error| panic!("{text}: {error}")).get()
    }

    #[test]
    fn moments_are_milliseconds_since_1970() {
        // `date -u -d TEXT +%s%3N`.
        assert_eq!(millis_of("1970-01-01T00:00:00"), 0);
        assert_eq!(millis_of("2000-02-29"), 951_782_400_000);
        assert_eq!(millis_of("2000-03-01T00:00Z"), 951_868_800_000);
        assert_eq!(millis_of("2026-05-01T08:09:10.250"), 1_777_622_950_250);
        assert_eq!(millis_of("2026-05-01T08:09:10.2Z"), 1_777_622_950_200);
        assert_eq!(millis_of("2100-12-31T23:59:59.999999Z"), 4_133_980_799_999);
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(written(Timestamp::new(1_700_000_000_004)), "2023-11-14T22:13:20.004Z");
        assert_eq!(written(Timestamp::NONE), "-1");
        for day in (0..2_932_896).step_by(13) {
            let millis = day * MILLIS_PER_DAY + day * 29 % MILLIS_PER_DAY;
            assert_eq!(millis_of(&written(Timestamp::new(millis))), millis);
        }
    }

    #[test]
    fn a_zone_moves_the_moment() {
        let utc = millis_of("2026-05-01T08:00:00Z");
        for text in [
            "2026-05-01T10:00+02:00",
            "2026-05-01T10:00:00+0200",
            "2026-05-01T10:00:00.000+02",
            "2026-05-01T02:30:00-05:30",
        ] {
            assert_eq!(millis_of(text), utc, "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "T",
            "2026-05-01T",
            "2026-05-01 08:00:00",
            "2026-5-1",
            "2026-13-01",
            "2026-02-29",
            "2100-02-29",
            "2026-05-01T24:00",
            "2026-05-01T08",
            "2026-05-01T08:00:60",
            "2026-05-01T08:00:00.",
            "2026-05-01T08:00:00.x",
            "2026-05-01T08:00+2",
            "2026-05-01T08:00+19:00",
            "2026-05-01T08:00:00:00",
            "2026-05-01-01",
            "1969-12-31",
            "1970-01-01T00:00+01:00",
            "1777622950250",
            "20é6-05-01",
            "2026-05-01T10:00+é",
        ] {
            assert_eq!(moment(text), Err(MOMENT.to_owned()), "{text}");
        }
    }

    #[test]
    fn durations_are_sums_of_their_parts() {
        for (text, millis) in [
            ("PT15M", 900_000),
            ("PT1H30M", 5_400_000),
            ("P7D", 604_800_000),
            ("P1DT12H", 129_600_000),
            ("PT0S", 0),
            ("PT1.5S", 1_500),
            ("P2DT3H4M5.006S", 183_845_006),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "",
            "P",
            "PT",
            "P1DT",
            "15M",
            "P15M",
            "PT15",
            "PT5M1H",
            "PT1H1H",
            "PT-5M",
            "-PT5M",
            "PT1.5M",
            "PT.S",
            "PTS",
            "P1Y",
            "PT99999999999999999999S",
            "P99999999999999999D",
            "PT1é",
        ] {
            assert_eq!(duration(text), Err(DURATION.to_owned()), "{text}");
        }
    }
}
