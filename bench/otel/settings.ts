/** What is measured, in the order of the report. `none` is what the others are compared with. */
export const settings = {
  none: 'no hooks',
  'no-sdk': 'hooks, no SDK',
  'roots-1%': 'sampler keeps 1 %, records sent outside any trace',
  'roots-all': 'sampler keeps all, records sent outside any trace',
  'requests-1%': '1 % of requests kept, every record in a request',
  'requests-all': 'all requests kept, every record in a request',
} as const;

export type Setting = keyof typeof settings;
