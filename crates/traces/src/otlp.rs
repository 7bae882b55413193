//! OpenTelemetry spans.
