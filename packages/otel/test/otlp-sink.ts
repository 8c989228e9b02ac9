import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface AnyValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly AnyValue[] };
}

interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string; readonly version?: string };
      readonly schemaUrl?: string;
      readonly spans: readonly OtlpSpan[];
    }[];
  }[];
}

/** A span as it goes over OTLP/HTTP in JSON. */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly KeyValue[];
  readonly events: readonly { readonly name: string; readonly attributes: readonly KeyValue[] }[];
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: readonly KeyValue[];
  }[];
  readonly status: { readonly code?: number };
}

export interface ReceivedSpan extends OtlpSpan {
  readonly scope: string;
  readonly schemaUrl: string | undefined;
}

export interface OtlpSink {
  readonly tracesUrl: string;
  readonly spans: readonly ReceivedSpan[];
  close(): Promise<void>;
}

/** What an OpenTelemetry Collector is to an exporter: takes spans over OTLP/HTTP, and here keeps them. */
export async function startOtlpSink(): Promise<OtlpSink> {
  const spans: ReceivedSpan[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as OtlpRequest;
    for (const { scopeSpans } of resourceSpans) {
      for (const { scope, schemaUrl, spans: received } of scopeSpans) {
        for (const span of received) spans.push({ ...span, scope: `${scope.name}@${scope.version ?? ''}`, schemaUrl });
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    tracesUrl: `http://127.0.0.1:${port}/v1/traces`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function attributesOf(attributes: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));
}

function plain({ stringValue, intValue, doubleValue, boolValue, arrayValue }: AnyValue): unknown {
  if (arrayValue !== undefined) return arrayValue.values.map(plain);
  if (intValue !== undefined) return Number(intValue);
  return stringValue ?? doubleValue ?? boolValue;
}
