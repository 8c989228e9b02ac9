import { describe, expect, it } from 'vitest';
import { helpText, readArguments, UsageError } from './arguments.ts';

describe('arguments', () => {
  it('none at all means everything, at the reader’s pace, with the usual seed', () => {
    expect(readArguments([], 9)).toEqual({ help: false, fast: false, json: false, seed: 2026 });
  });

  it('all of them are understood', () => {
    expect(readArguments(['--fast', '--json', '--scene', '3', '--seed=7'], 9)).toEqual({
      help: false,
      fast: true,
      json: true,
      scene: 3,
      seed: 7,
    });
    expect(readArguments(['-h'], 9).help).toBe(true);
  });

  it.each(['start', '127.0.0.1:9092', 'broker.example:65535', '[::1]:9092'])('--kafka %s is an address', (address) => {
    expect(readArguments(['--kafka', address], 9).kafka).toBe(address);
  });

  it.each([
    ['an unknown option', ['--fats'], /--fats/],
    ['a word that belongs to no option', ['fast'], /fast/],
    ['a scene that does not exist', ['--scene', '9'], /--scene takes a whole number from 0 to 8, not "9"/],
    ['a scene that is no number', ['--scene', 'storm'], /not "storm"/],
    ['a negative scene', ['--scene=-1'], /not "-1"/],
    ['a scene without its number', ['--scene'], /--scene/],
    ['a seed that is no whole number', ['--seed', '1.5'], /--seed takes a whole number/],
    ['a seed beyond what a number holds', ['--seed', '9007199254740992'], /--seed/],
    ['a broker without a port', ['--kafka', 'localhost'], /--kafka takes HOST:PORT/],
    ['a broker with port 0', ['--kafka', 'localhost:0'], /--kafka/],
    ['a broker with a port beyond 65535', ['--kafka', 'localhost:65536'], /--kafka/],
    ['a broker given as URL', ['--kafka', 'kafka://localhost:9092'], /--kafka/],
    ['two brokers', ['--kafka', 'a:1,b:2'], /--kafka/],
    ['a scene together with a broker', ['--kafka', 'start', '--scene', '1'], /give one of them/],
  ])('%s is refused with a message that says what to write', (_what, args, message) => {
    expect(() => readArguments(args, 9)).toThrow(UsageError);
    expect(() => readArguments(args, 9)).toThrow(message);
  });

  it('the help lists every scene', () => {
    expect(helpText(['First', 'Second'])).toMatch(/0 {2}First\n\s+1 {2}Second/);
  });
});
