import type { LabTimes } from './lab-cluster.ts';
import type { ControlView } from './snapshot.ts';

/** What a control needs: where it is missing, the button says so. */
export type Need = 'network' | 'brokers' | 'consumers';

interface Control extends Pick<ControlView, 'action' | 'label' | 'group'> {
  readonly needs: Need | null;
  /** One sentence: what to expect. */
  readonly expect: (times: LabTimes) => string;
}

const seconds = (ms: number): string => `${Number((ms / 1_000).toFixed(1))} s`;

/** How late a reply may be without being given up. */
export function lateMs(requestTimeoutMs: number): number {
  return Math.round(requestTimeoutMs / 2);
}

/** In the order of the page. */
export const controls = [
  {
    action: 'pay-one',
    label: 'Send one payment',
    group: 'send',
    needs: null,
    expect: () => 'It gets the next number of its partition, is stored, copied, acknowledged, and applied.',
  },
  {
    action: 'pay-hundred',
    label: 'Send a hundred',
    group: 'send',
    needs: null,
    expect: () => 'They share a few batches. A batch carries the number of its first record, and that is enough.',
  },
  {
    action: 'stream',
    label: 'Send a stream',
    group: 'send',
    needs: null,
    expect: () =>
      'Ten payments a second, until you press it again or five minutes have passed. Break something meanwhile.',
  },
  {
    action: 'lose-reply',
    label: 'Lose the next reply',
    group: 'network',
    needs: 'network',
    expect: ({ requestTimeoutMs }) =>
      `A payment is stored, and nobody hears of it. After ${seconds(requestTimeoutMs)} the same numbers are sent again, and the broker should recognise them.`,
  },
  {
    action: 'lose-request',
    label: 'Lose a batch on its way',
    group: 'network',
    needs: 'network',
    expect: ({ requestTimeoutMs }) =>
      `Four payments to one partition, and the second never arrives. What comes behind it must not be stored before it: after ${seconds(requestTimeoutMs)} it goes again, and then the others, in their order.`,
  },
  {
    action: 'delay',
    label: 'Delay replies',
    group: 'network',
    needs: 'network',
    expect: ({ requestTimeoutMs }) =>
      `Seven payments to one partition. All but the first are answered ${seconds(lateMs(requestTimeoutMs))} late: five are in flight, one waits. Late is not lost: what is answered in time is not sent again.`,
  },
  {
    action: 'kill-leader',
    label: 'Kill a leader',
    group: 'brokers',
    needs: 'brokers',
    expect: ({ outageMs }) =>
      `A broker stores the next batch and dies before it answers. A follower takes over; it copied the notebook, and should recognise the repeat. Back after ${seconds(outageMs)}.`,
  },
  {
    action: 'freeze-leader',
    label: 'Freeze a leader',
    group: 'brokers',
    needs: 'brokers',
    expect: ({ outageMs }) =>
      `One payment goes through; when the next is on its way its broker answers nothing for ${seconds(outageMs)}, and another leads meanwhile. When it wakes up it finds old requests waiting, and should store none of them again.`,
  },
  {
    action: 'outlast-timeout',
    label: 'Outlast the delivery timeout',
    group: 'brokers',
    needs: 'brokers',
    expect: ({ deliveryTimeoutMs }) =>
      `One payment goes through; when the next is on its way all brokers freeze for longer than it may take (${seconds(deliveryTimeoutMs)}). Its sender is told “unknown”. Then resend: the same key makes asking again safe.`,
  },
  {
    action: 'restart-producer',
    label: 'Restart the producer',
    group: 'processes',
    needs: null,
    expect: () =>
      'It gets another id and counts from 0. For the brokers it is somebody new: watch the colour of its batches.',
  },
  {
    action: 'resend',
    label: 'Resend from the application',
    group: 'processes',
    needs: null,
    expect: () =>
      'What got no answer is asked for again. Otherwise the last payment is sent once more, with new numbers, and stored twice. Its key should keep it from being applied twice.',
  },
  {
    action: 'crash-consumer',
    label: 'Crash the consumer',
    group: 'processes',
    needs: 'consumers',
    expect: ({ outageMs }) =>
      `It dies after applying a payment, before noting that it read it. Back after ${seconds(outageMs / 2)}, it reads it again, and should find its key.`,
  },
] as const satisfies readonly Control[];

export type ControlAction = (typeof controls)[number]['action'];

/** Why a control can't work where its need is missing. */
export const withoutNeed: Readonly<Record<Need, string>> = {
  network:
    'Not here: nothing stands between the producer and this Kafka that could lose a reply. In memory mode it works.',
  brokers: 'Not here: this Kafka’s brokers are not the demo’s to kill. In memory mode it works.',
  consumers: 'Not here: the consumers run in another process.',
};
