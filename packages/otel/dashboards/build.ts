import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Writes sendonce.json, the Grafana dashboard: node dashboards/build.ts. A test checks that it is up to date.

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly unit: string;
  readonly queries: readonly Query[];
  /** One number instead of a curve, red from this value on. */
  readonly alarmFrom?: number;
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const topic = 'messaging_destination_name';
/** Every query is limited to what the variables at the top of the dashboard say. */
const chosen = `job=~"$job", ${topic}=~"$topic"`;
const inJob = 'job=~"$job"';

const curve = (
  title: string,
  unit: string,
  description: string,
  ...queries: [expr: string, legend: string][]
): Panel => ({
  title,
  unit,
  description,
  queries: queries.map(([expr, legend]) => ({ expr, legend })),
});
const alarm = (title: string, description: string, expr: string): Panel => ({
  title,
  unit: 'short',
  description,
  queries: [{ expr, legend: '' }],
  alarmFrom: 1,
});
/** Events of the dashboard's time range, those of a series that began within it included. */
const events = (metric: string, matchers: string): string =>
  `sum((${metric}{${matchers}} unless ${metric}{${matchers}} offset $__range) or increase(${metric}{${matchers}}[$__range])) or vector(0)`;

const rows: readonly Row[] = [
  {
    title: 'Is the promise kept?',
    panels: [
      alarm(
        'Records failed',
        'Retrying is over for these. 0 is the only healthy value.',
        events('sendonce_producer_record_errors_total', chosen),
      ),
      alarm(
        'of unknown fate',
        'Perhaps stored: look before sending them again.',
        events('sendonce_producer_record_errors_total', `${chosen}, sendonce_fate="unknown"`),
      ),
      alarm(
        'Data loss suspected',
        'The broker does not have what it acknowledged.',
        events('sendonce_producer_data_loss_suspected_total', chosen),
      ),
      alarm(
        'Sequence errors',
        'Numbers refused that are no echo of an earlier failure.',
        events('sendonce_producer_sequence_errors_total', `${inJob}, sendonce_cascade="false"`),
      ),
      alarm('Producers stopped', 'Fenced, or a broken invariant.', events('sendonce_producer_fatal_total', inJob)),
      alarm(
        'Unheard failures',
        'Failed records for which no code listened.',
        events('sendonce_producer_record_unheard_total', chosen),
      ),
    ],
  },
  {
    title: 'Sends',
    panels: [
      curve('Records sent', 'cps', 'Each once, however many attempts it took.', [
        `sendonce:sends:rate5m{${chosen}}`,
        `{{${topic}}}`,
      ]),
      curve(
        'Time of a send',
        's',
        'From the call to its settlement, retries included. Compare with deliveryTimeoutMs.',
        [`sendonce:send_duration_seconds:p50{${chosen}}`, `p50 {{${topic}}}`],
        [`sendonce:send_duration_seconds:p99{${chosen}}`, `p99 {{${topic}}}`],
      ),
      curve('Errors', 'cps', 'Records that failed for good.', [
        `sum by (error_type, sendonce_fate) (rate(sendonce_producer_record_errors_total{${chosen}}[$__rate_interval]))`,
        '{{error_type}} ({{sendonce_fate}})',
      ]),
    ],
  },
  {
    title: 'Retries',
    panels: [
      curve(
        'Records sent again, by class',
        'cps',
        'leadership: failover. ambiguous: no clear answer. unreachable: nothing left. availability: too few replicas. cascade: the echo of another. identity: lost producer state.',
        [`sum by (sendonce_retry_class) (sendonce:record_retries:rate5m{${chosen}})`, '{{sendonce_retry_class}}'],
      ),
      curve(
        'Share that is sent again',
        'percentunit',
        'Load: of the records put on the wire. Incidents: of the attempts.',
        [`sendonce:record_retry_ratio:rate5m{${chosen}}`, `records {{${topic}}}`],
        [`sendonce:resend_ratio:rate5m{${chosen}}`, `attempts {{${topic}}}`],
      ),
      curve('Attempts of a batch, p99', 'short', 'How near to giving up one batch in a hundred comes.', [
        `sendonce:batch_attempts:p99{${chosen}}`,
        `{{${topic}}}`,
      ]),
      curve('Time of an attempt, p99', 's', "One request's round trip.", [
        `sendonce:attempt_duration_seconds:p99{${chosen}}`,
        `{{${topic}}}`,
      ]),
      curve('Leader changes', 'short', 'What explains most peaks of retries.', [
        `sum by (${topic}) (increase(sendonce_producer_leader_changes_total{${chosen}}[$__rate_interval]))`,
        `{{${topic}}}`,
      ]),
    ],
  },
  {
    title: 'Identity and duplicates',
    panels: [
      curve('Epoch bumps', 'short', 'Partitions that took their next epoch, by why.', [
        `sum by (sendonce_reason) (increase(sendonce_producer_epoch_bumps_total{${inJob}}[$__rate_interval]))`,
        '{{sendonce_reason}}',
      ]),
      curve('Resolutions', 'short', 'Partitions that had to find out what is stored.', [
        `sum by (sendonce_reason) (increase(sendonce_producer_resolutions_total{${inJob}}[$__rate_interval]))`,
        '{{sendonce_reason}}',
      ]),
      curve('Repeats at the broker', 'cps', 'confirmed: it recognised them. possible: it may have, an upper bound.', [
        `sum by (sendonce_duplicate) (rate(sendonce_producer_duplicates_total{${chosen}}[$__rate_interval]))`,
        '{{sendonce_duplicate}}',
      ]),
      curve(
        'Producers',
        'short',
        'Alive, and created in the interval: a process needs one.',
        [`sum by (job) (sendonce_producer_active{${inJob}})`, 'alive {{job}}'],
        [`sum by (job) (increase(sendonce_producer_created_total{${inJob}}[$__rate_interval]))`, 'created {{job}}'],
      ),
      curve(
        'Producer ids',
        'short',
        'Received, and requests for one that failed.',
        [
          `sum by (sendonce_reason) (increase(sendonce_producer_id_assignments_total{${inJob}}[$__rate_interval]))`,
          'received: {{sendonce_reason}}',
        ],
        [
          `sum by (error_type) (increase(sendonce_producer_id_failures_total{${inJob}}[$__rate_interval]))`,
          'failed: {{error_type}}',
        ],
      ),
    ],
  },
  {
    title: 'Batches and memory',
    panels: [
      curve('Memory that is free', 'percentunit', 'Of bufferMemory.', [
        `sendonce:buffer_available_ratio{${inJob}}`,
        '{{instance}} {{messaging_client_id}}',
      ]),
      curve(
        'On the way',
        'short',
        'Records taken and not settled; requests without an answer.',
        [
          `sum by (messaging_client_id) (sendonce_producer_record_pending{${inJob}})`,
          'records {{messaging_client_id}}',
        ],
        [
          `sum by (messaging_client_id) (sendonce_producer_request_inflight{${inJob}})`,
          'requests {{messaging_client_id}}',
        ],
      ),
      curve('Refused for lack of memory', 'cps', '', [
        `sum by (${topic}) (rate(sendonce_producer_buffer_rejected_total{${chosen}}[$__rate_interval]))`,
        `{{${topic}}}`,
      ]),
      curve('Time in the queue, p99', 's', "From a batch's first record to its first attempt.", [
        `sendonce:queue_duration_seconds:p99{${chosen}}`,
        `{{${topic}}}`,
      ]),
      curve('Batch size, p50', 'bytes', 'When it first leaves.', [
        `sendonce:batch_size_bytes:p50{${chosen}}`,
        `{{${topic}}}`,
      ]),
      curve('Records in a batch, p50', 'short', 'When it first leaves.', [
        `sendonce:batch_records:p50{${chosen}}`,
        `{{${topic}}}`,
      ]),
      curve('Batches split', 'short', "Larger than the topic's max.message.bytes.", [
        `sum by (${topic}) (increase(sendonce_producer_batch_splits_total{${chosen}}[$__rate_interval]))`,
        `{{${topic}}}`,
      ]),
    ],
  },
  {
    title: 'Consumers',
    panels: [
      curve('Messages by outcome', 'cps', 'What the deduplicator made of them.', [
        `sum by (sendonce_dedup_namespace, sendonce_dedup_outcome) (sendonce:dedup_messages:rate5m{${inJob}})`,
        '{{sendonce_dedup_namespace}} {{sendonce_dedup_outcome}}',
      ]),
      curve('Share of duplicates', 'percentunit', 'Caught. Yet somebody sends or reads twice.', [
        `sendonce:dedup_duplicate_ratio:rate5m{${inJob}}`,
        '{{sendonce_dedup_namespace}}',
      ]),
      curve('Time to process, p99', 's', 'From the call to the outcome.', [
        `sendonce:process_duration_seconds:p99{${chosen}}`,
        `{{${topic}}}`,
      ]),
      curve('Time of the store, p99', 's', 'One request.', [
        `sendonce:dedup_duration_seconds:p99{${inJob}}`,
        '{{sendonce_dedup_store}} {{sendonce_dedup_operation}}',
      ]),
      curve('Store errors', 'short', '', [
        `sum by (sendonce_dedup_store, error_type) (increase(sendonce_consumer_dedup_store_errors_total{${inJob}}[$__rate_interval]))`,
        '{{sendonce_dedup_store}} {{error_type}}',
      ]),
      curve(
        'Leases',
        'short',
        'Taken over after their holder was gone; lost while a handler ran.',
        [
          `sum by (sendonce_dedup_namespace) (increase(sendonce_consumer_dedup_lease_takeovers_total{${inJob}}[$__rate_interval]))`,
          'taken over {{sendonce_dedup_namespace}}',
        ],
        [
          `sum by (sendonce_dedup_namespace) (increase(sendonce_consumer_dedup_lease_losses_total{${inJob}}[$__rate_interval]))`,
          'lost {{sendonce_dedup_namespace}}',
        ],
      ),
    ],
  },
];

const columns = 24;
const curvesAcross = 3;
const datasource = { type: 'prometheus', uid: '$datasource' };

function panelJson({ title, description, unit, queries, alarmFrom }: Panel, id: number, gridPos: object): object {
  const isAlarm = alarmFrom !== undefined;
  return {
    id,
    type: isAlarm ? 'stat' : 'timeseries',
    title,
    description,
    datasource,
    gridPos,
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(isAlarm
          ? {
              decimals: 0,
              thresholds: {
                mode: 'absolute',
                steps: [
                  { color: 'green', value: null },
                  { color: 'red', value: alarmFrom },
                ],
              },
            }
          : { custom: { lineWidth: 1, fillOpacity: 10, showPoints: 'never' } }),
      },
      overrides: [],
    },
    options: isAlarm
      ? {
          colorMode: 'background',
          graphMode: 'none',
          reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
        }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      legendFormat: legend,
      instant: isAlarm,
      range: !isAlarm,
    })),
  };
}

function variable(name: string, label: string, query: string): object {
  return {
    name,
    label,
    type: 'query',
    datasource,
    query: { query, refId: name },
    definition: query,
    includeAll: true,
    multi: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
    refresh: 2,
    sort: 1,
  };
}

/** The dashboard as Grafana imports it. */
export function dashboard(): object {
  const panels: object[] = [];
  let id = 1;
  let y = 0;
  for (const { title, panels: inRow } of rows) {
    panels.push({ id: id++, type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: columns, h: 1 }, panels: [] });
    y += 1;
    const isAlarms = inRow.every(({ alarmFrom }) => alarmFrom !== undefined);
    const across = isAlarms ? inRow.length : curvesAcross;
    const w = Math.floor(columns / across);
    const h = isAlarms ? 4 : 8;
    inRow.forEach((panel, index) => {
      panels.push(panelJson(panel, id++, { x: (index % across) * w, y: y + Math.floor(index / across) * h, w, h }));
    });
    y += Math.ceil(inRow.length / across) * h;
  }
  return {
    uid: 'sendonce',
    title: 'sendonce: producers and deduplication',
    description: 'Needs the recording rules of sendonce.rules.yml. How to read it: docs/reading-retries.md.',
    tags: ['kafka', 'sendonce'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {} },
        variable('job', 'Job', 'label_values(messaging_client_sent_messages_total, job)'),
        variable('topic', 'Topic', `label_values(messaging_client_sent_messages_total{job=~"$job"}, ${topic})`),
      ],
    },
    annotations: { list: [] },
    panels,
  };
}

export const dashboardFile = fileURLToPath(new URL('sendonce.json', import.meta.url));
export const dashboardText = (): string => `${JSON.stringify(dashboard(), null, 2)}\n`;

if (import.meta.main) writeFileSync(dashboardFile, dashboardText());
