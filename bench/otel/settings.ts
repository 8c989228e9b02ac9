/** What is measured, in the order of the report; `again` shows the noise. */
export const settings = {
  none: 'no hooks',
  again: 'no hooks, once more: the noise',
  stripped: 'no hooks, in a producer without its calls of hooks',
  'no-sdk': 'hooks, no SDK',
  sdk: 'no hooks, SDK registered',
  'roots-1%': 'sampler keeps 1 %, records sent outside any trace',
  'roots-all': 'sampler keeps all, records sent outside any trace',
  requests: 'no hooks, every record in a request',
  'requests-1%': '1 % of requests kept, every record in a request',
  'requests-all': 'all requests kept, every record in a request',
} as const;

export type Setting = keyof typeof settings;

/** No hooks are given to the producer. */
export const bare: ReadonlySet<Setting> = new Set(['none', 'again', 'stripped', 'sdk', 'requests']);

/** What a setting is compared with: the same application without telemetry. */
export function baseOf(setting: Setting): Setting {
  if (setting.startsWith('requests')) return 'requests';
  return setting === 'sdk' || setting.startsWith('roots') ? 'sdk' : 'none';
}
