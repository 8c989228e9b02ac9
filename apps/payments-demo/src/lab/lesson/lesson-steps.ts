import { topic } from '../../scenes/payments.ts';
import type { ControlAction } from '../controls.ts';
import type { LessonLive, Spotlight } from './lesson-frame.ts';
import type { LessonRun } from './lesson-run.ts';

export interface LessonIdea {
  readonly title: string;
  readonly text: string;
  readonly spotlight: readonly Spotlight[];
  readonly live: LessonLive & { readonly actions: readonly ControlAction[] };
  /** Goes on from where the idea before ended. */
  readonly play: (run: LessonRun) => Promise<void>;
}

/** Long enough for a batch to be stored, copied and acknowledged. */
const untilAcknowledgedMs = 60;
/** Longer than the request timeout, with the resend and its answer. */
const untilSentAgainMs = 1_500;
const untilTimeIsUpMs = 8_000;
/** Between batches that shall not become one. */
const betweenBatchesMs = 10;

const identity: LessonIdea = {
  title: 'Identity: who is sending?',
  text:
    'A service wants to send payments to Kafka. First it asks a broker for a producer id. From now on every batch says who sent it, so that a broker can recognise a batch that comes twice. ' +
    'A producer id belongs to one run of the service: nobody else has it, and the next run gets another.',
  spotlight: ['producer'],
  live: {
    actions: ['restart-producer'],
    watch:
      'The producer’s id changes, and its numbers begin at 0. Send a payment, and look whose page the brokers open in their notebooks.',
  },
  async play(run) {
    run.show('Three brokers, three empty logs. The first record of each will get offset 900.');
    await run.startService();
    run.show('The service has started. A broker gave it the producer id 5001. It has sent nothing.');
  },
};

const epoch: LessonIdea = {
  title: 'Epoch: which beginning?',
  text:
    'Beside the id, each batch carries an epoch, which begins at 0. When a producer has to begin its numbers anew in a partition, it raises the epoch. ' +
    'Once a broker has seen epoch 1 it takes nothing from epoch 0: whatever is late from before the new beginning is refused.',
  spotlight: ['producer', 'notebook'],
  live: {
    actions: ['outlast-timeout', 'resend'],
    watch:
      'The partition whose payment was given up takes epoch 1. Its next batch begins at 0 again; the other partitions keep their epoch and their numbers.',
  },
  async play(run) {
    const lost = run.cluster.faults.loseReply({ topic, partition: 2, times: 100 });
    run.sendAside(2, 0);
    await run.pass(untilTimeIsUpMs);
    lost.cancel();
    run.show(
      'A payment goes to partition 2, and every answer is lost. After five seconds its time is up. Nobody knows whether it is stored.',
    );
    run.sendAside(2, 1);
    await run.pass(untilAcknowledgedMs);
    run.show(
      'The next payment begins epoch 1 in that partition, and counts from 0. Other partitions have nothing to do with it.',
    );
    await run.sendByHand(2, { epoch: 0, baseSequence: 1 });
    run.show('Something late from epoch 0 arrives. The broker has seen epoch 1, and refuses it.');
  },
};

const numbering: LessonIdea = {
  title: 'Numbering: every record has its place',
  text: 'The producer counts the records that it sends to a partition: 0, 1, 2, 3. Each partition has its own count. A batch carries the number of its first record, and that is enough to know them all.',
  spotlight: ['producer', 'log'],
  live: {
    actions: ['pay-one', 'pay-hundred'],
    watch:
      'Next number and next offset of a partition grow by as many as there are records in its batches, and each partition counts for itself.',
  },
  async play(run) {
    run.send(0, 3);
    await run.pass(untilAcknowledgedMs);
    run.show(
      'Four payments leave as one batch, with the numbers 0–3. They are stored at the offsets 900–903. The next number of partition 0 is 4.',
    );
  },
};

const header: LessonIdea = {
  title: 'The header: 61 bytes in front of each batch',
  text:
    'Id, epoch and first number stand in the header of the batch, and the log keeps that header with the records. ' +
    'So what a broker knows of its producers can be read from the log again: by a follower that copies it, or after a restart.',
  spotlight: ['log', 'header'],
  live: {
    actions: ['pay-one'],
    watch:
      'Each line of a log is the header of a batch: its offsets, its colour for the producer id, and after № its numbers. All of that is read from the stored bytes.',
  },
  async play(run) {
    run.show('This is the header of the batch that was just stored, as it lies in the log.');
  },
};

const life: LessonIdea = {
  title: 'The life of a record',
  text:
    'A record is put into a batch. When the batch leaves it gets its numbers. The partition’s leader checks them, stores the batch, and writes it into its notebook. ' +
    'Followers copy it. When all replicas in sync have it, the leader answers, and only then the service hears “stored”.',
  spotlight: ['producer', 'log', 'replicas'],
  live: {
    actions: ['pay-one'],
    watch:
      'It happens within some milliseconds here: in flight, stored, a step later on the followers, acknowledged, applied.',
  },
  async play(run) {
    run.sendAside(1, 0);
    await run.pass(3);
    run.show('The batch has its number, 0 in partition 1, and is on its way. Nothing is stored.');
    await run.pass(15);
    run.show('The leader of partition 1, broker B, has stored it at 900. Its followers have not copied it.');
    await run.pass(untilAcknowledgedMs);
    run.show('All three replicas have it. The answer has arrived, and the batch is no longer in flight.');
  },
};

const validation: LessonIdea = {
  title: 'Validation: next, again, or a gap',
  text:
    'For each producer the leader’s notebook holds the last batches. The next number is stored. A batch that is in the notebook is not stored again, and gets the answer of the first time. ' +
    'A gap is refused: something is missing before it.',
  spotlight: ['notebook', 'log'],
  live: {
    actions: ['lose-reply', 'lose-request'],
    watch:
      'First a batch that comes again: it is in the notebook, and nothing is stored. Then a gap: what comes behind the missing batch is refused.',
  },
  async play(run) {
    await run.sendByHand(1, { epoch: 0, baseSequence: 7 });
    run.show(
      'A request written by hand claims to be number 7. The broker expects 1, and refuses it. The log stays as it was.',
    );
    await run.sendByHand(1, { epoch: 0, baseSequence: 0 });
    run.show(
      'Number 0 comes again. It is in the notebook: nothing is stored, and the answer is 900, as the first time.',
    );
    run.sendAside(1, 1);
    await run.pass(untilAcknowledgedMs);
    run.show('Number 1 is what the broker expects. It is stored at 901.');
  },
};

const lostReply: LessonIdea = {
  title: 'A lost reply',
  text: 'The batch is stored, but the answer never arrives. The producer can’t know: it has to ask again, and it asks with the same numbers. Without numbers this is where a payment is stored twice.',
  spotlight: ['producer', 'notebook', 'log'],
  live: {
    actions: ['lose-reply'],
    watch:
      'The batch in flight gets the mark ×2. Its numbers are in the notebook already, and the log does not grow: one payment, one record.',
  },
  async play(run) {
    run.cluster.faults.loseReply({ topic, partition: 0, baseSequence: 4 });
    run.send(4, 5);
    await run.pass(untilAcknowledgedMs);
    run.show('4–5 are stored at 904–905. The reply is lost, and the producer still waits for it.');
    await run.pass(untilSentAgainMs);
    run.show(
      'No answer for a second: the same numbers are sent again. Broker A recognises 4–5, stores nothing, and answers with 904–905.',
    );
  },
};

const reordering: LessonIdea = {
  title: 'Order is kept, too',
  text: 'Several batches may be on their way at once. When one gets lost, the next arrives before it. The broker expects another number and refuses it. So nothing can be stored out of order: the producer sends both again, the oldest first.',
  spotlight: ['producer', 'log'],
  live: {
    actions: ['lose-request'],
    watch:
      'Others wait in the window behind the batch that is missing. In the log they stand in the order of their numbers, without a gap.',
  },
  async play(run) {
    run.cluster.faults.loseRequest({ topic, partition: 0, baseSequence: 6 });
    run.send(6, 8);
    await run.pass(betweenBatchesMs);
    run.send(9, 11);
    await run.pass(untilAcknowledgedMs);
    run.show('6–8 are lost on their way. 9–11 arrive, and broker A refuses them: it expects 6.');
    await run.pass(untilSentAgainMs);
    run.show('Both went again, in their order and with their numbers: 6–8 are at 906–908, 9–11 at 909–911.');
  },
};

const five: LessonIdea = {
  title: 'Five in flight',
  text: 'The notebook remembers five batches of each producer. So a producer may have five batches on their way, and not six: if all six had to come again, the oldest would no longer be in the notebook, and could not be recognised.',
  spotlight: ['producer', 'notebook'],
  live: {
    actions: ['delay'],
    watch:
      'The window fills to five and no further, although another payment waits. The notebook never holds more than five either.',
  },
  async play(run) {
    const held = run.cluster.faults.holdReplies({ topic, partition: 1, times: 100 });
    for (let number = 2; number < 8; number += 1) {
      run.sendAside(1, number);
      await run.pass(betweenBatchesMs);
    }
    await run.pass(untilAcknowledgedMs);
    run.show(
      'Six payments were sent, and every reply is held back. Five are in flight, numbers 2 to 6. The sixth waits in the service.',
    );
    held.cancel();
    held.release();
    await run.pass(untilAcknowledgedMs);
    run.show(
      'The replies are let go: the sixth leaves, with number 7. The notebook holds 3 to 7. Number 2 has fallen out of it.',
    );
    await run.sendByHand(1, { epoch: 0, baseSequence: 2 });
    run.show(
      'Were number 2 to come again now, the broker could not recognise it. It answers “out of order”, although number 2 is stored.',
    );
  },
};

const failover: LessonIdea = {
  title: 'Failover: the notebook is copied',
  text: 'The leader dies right after storing a batch, before it answers. A follower takes over. It copied the batch, and with it the numbers: it has the same notebook, and recognises the repeat.',
  spotlight: ['replicas', 'notebook', 'producer'],
  live: {
    actions: ['kill-leader'],
    watch:
      'A broker dies, and another letter leads. The notebook of the new leader has the same numbers in it, and recognises the repeat.',
  },
  async play(run) {
    run.cluster.faults.kill({ topic, partition: 0, baseSequence: 12 }, 'after');
    run.send(12, 13);
    await run.pass(25);
    run.show('12–13 are stored and copied. Then broker A dies, before it answers. Another broker leads partition 0.');
    await run.pass(untilSentAgainMs);
    run.show('The repeat went to the new leader. It found 12–13 in its own notebook, and answered with 912–913.');
  },
};

const restart: LessonIdea = {
  title: 'Restart: what numbers can’t guard',
  text: 'Now the service itself restarts. It does not know whether payment 13 went out, so it sends it again. It is a new producer, with a new id and new numbers: nothing in the notebook says that this is a repeat.',
  spotlight: ['producer', 'log', 'notebook'],
  live: {
    actions: ['restart-producer', 'resend'],
    watch:
      'Another id, another colour, numbers from 0. The payment that is sent again is stored a second time: “in the log” grows, “applied” does not.',
  },
  async play(run) {
    await run.startService();
    run.show('The service has started again. Its producer id is 5002, and it counts from 0.');
    run.send(13);
    await run.pass(untilAcknowledgedMs);
    run.show('Payment 13 is stored a second time, at 914: for the broker it is something new.');
  },
};

const businessKey: LessonIdea = {
  title: 'The business key: the last guard',
  text: 'Each payment carries a key of its own, which stays the same however often and by whomever it is sent. The consumer notes the key together with the effect. A payment whose key it knows is passed over.',
  spotlight: ['consumer', 'ledger'],
  live: {
    actions: ['resend', 'crash-consumer'],
    watch:
      'First a payment is stored again, then one is read again. Both times its key is known, and the ledger passes over it.',
  },
  async play(run) {
    await run.consume();
    run.show('The ledger’s consumer has read all records. Payment 13 is in the log twice, and in the ledger once.');
  },
};

export const lessonIdeas: readonly LessonIdea[] = [
  identity,
  epoch,
  numbering,
  header,
  life,
  validation,
  lostReply,
  reordering,
  five,
  failover,
  restart,
  businessKey,
];
