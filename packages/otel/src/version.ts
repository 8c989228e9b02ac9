export const instrumentationName = '@sendonce/otel';
/** The package's version; a test compares it with the manifest. Not read at run time: bundlers lose manifests. */
export const instrumentationVersion = '0.0.0';
