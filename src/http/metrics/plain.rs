//! The format of before OpenMetrics.

/// The same numbers, where a counter is described by the name that its samples have.
pub(super) fn plain(text: &str) -> String {
    let counters: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut shown = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.starts_with("# EOF") && !line.starts_with("# UNIT")) {
        let described = line.strip_prefix("# TYPE ").or_else(|| line.strip_prefix("# HELP "));
        let name = described.and_then(|rest| rest.split(' ').next()).filter(|name| counters.contains(name));
        match name {
            Some(name) => shown.push_str(&line.replacen(name, &format!("{name}_total"), 1)),
            None => shown.push_str(line),
        }
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_described_by_the_name_of_their_samples_and_the_rest_stays() {
        let open = "# HELP a Things.\n# TYPE a counter\na_total{b=\"a\"} 1\n# HELP c_a More.\n# TYPE c_a gauge\n\
                    c_a 2\n# EOF\n";
        let shown = "# HELP a_total Things.\n# TYPE a_total counter\na_total{b=\"a\"} 1\n# HELP c_a More.\n\
                     # TYPE c_a gauge\nc_a 2\n";
        assert_eq!(plain(open), shown);
    }
}
