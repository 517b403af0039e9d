//! Durations for people.

use std::time::Duration;

/// The two largest units of a duration.
pub(super) fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    if days > 0 {
        format!("{days}d{}h", hours % 24)
    } else if hours > 0 {
        format!("{hours}h{}m", minutes % 60)
    } else if minutes > 0 {
        format!("{minutes}m{}s", seconds % 60)
    } else {
        format!("{}.{}s", seconds, duration.subsec_millis() / 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_show_what_matters_of_them() {
        for (millis, text) in [
            (0, "0.0s"),
            (950, "0.9s"),
            (59_999, "59.9s"),
            (60_000, "1m0s"),
            (3_599_000, "59m59s"),
            (7_500_000, "2h5m"),
            (90_000_000, "1d1h"),
            (8_640_000_000, "100d0h"),
        ] {
            assert_eq!(spoken(Duration::from_millis(millis)), text);
        }
    }
}
