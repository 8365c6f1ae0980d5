//! Families of samples, as the encoder takes them.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::table::help;
use crate::numbers::Distribution;

/// A label with its value.
pub(super) type Label = (&'static str, String);

/// Writes families of samples.
pub(super) struct Writer<'a>(pub(super) DescriptorEncoder<'a>);

impl Writer<'_> {
    pub(super) fn gauges(
        &mut self,
        name: &str,
        samples: impl IntoIterator<Item = (Vec<Label>, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help(name), None, MetricType::Gauge)?;
        samples
            .into_iter()
            .try_for_each(|(labels, value)| ConstGauge::new(value).encode(family.encode_family(&labels)?))
    }

    pub(super) fn gauge(&mut self, name: &str, value: f64) -> fmt::Result {
        self.gauges(name, [(Vec::new(), value)])
    }

    /// `name` is without the `_total` that the encoder adds.
    pub(super) fn counters(
        &mut self,
        name: &str,
        samples: impl IntoIterator<Item = (Vec<Label>, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help(name), None, MetricType::Counter)?;
        samples
            .into_iter()
            .try_for_each(|(labels, value)| ConstCounter::new(value).encode(family.encode_family(&labels)?))
    }

    pub(super) fn counter(&mut self, name: &str, value: f64) -> fmt::Result {
        self.counters(name, [(Vec::new(), value)])
    }

    pub(super) fn histogram(&mut self, name: &str, read: &Distribution) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help(name), None, MetricType::Histogram)?;
        family.encode_histogram::<NoLabelSet>(read.sum, read.count, &read.buckets, None)
    }
}

/// One label.
pub(super) fn label(name: &'static str, value: impl Into<String>) -> Vec<Label> {
    vec![(name, value.into())]
}

/// The labels with one more.
pub(super) fn with(mut labels: Vec<Label>, name: &'static str, value: impl Into<String>) -> Vec<Label> {
    labels.push((name, value.into()));
    labels
}

pub(super) fn number(count: impl TryInto<u32>) -> f64 {
    f64::from(count.try_into().unwrap_or(u32::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "a count is exact up to nine quadrillion")]
pub(super) fn large(count: u64) -> f64 {
    count as f64
}
