import { describe, expect, it } from 'vitest'

import type { GivenFlags } from '../../../worker/server/flags.ts'
import {
  devWingFlags,
  lacksDefaultWing,
  readWingFlags,
  WING_FLAGS,
  enabledWings,
} from '../../../worker/server/wings.ts'
import { UsageError } from '../../../worker/server/usage-error.ts'
import { CONFIG_FLAGS } from '../../../workflows/chaos/config-flags.ts'

const KNOWN = ['landscaper', 'chess']

describe('the flag --wings', () => {
  it('names the wings that are on, all without it', () => {
    expect(enabledWings(undefined, KNOWN)).toEqual(KNOWN)
    expect(enabledWings('chess, landscaper', KNOWN)).toEqual(['chess', 'landscaper'])
    expect(enabledWings(undefined)).toEqual(['landscaper'])
    expect(enabledWings('none', KNOWN)).toEqual([])
    expect([lacksDefaultWing(enabledWings(undefined)), lacksDefaultWing([])]).toEqual([false, true])
  })

  it('has to name a wing that is on only then, and lacks nothing without it', () => {
    const saying = { chess: { onlyWhenNamed: true } } as const
    expect(enabledWings(undefined, KNOWN, saying)).toEqual(['landscaper'])
    expect(enabledWings('chess', KNOWN, saying)).toEqual(['chess'])
    const parts = [['landscaper'], ['landscaper', 'chess'], ['chess'], []]
    expect(parts.map((wings) => lacksDefaultWing(wings, KNOWN, saying))).toEqual([false, false, true, true])
  })

  it.each([
    ['chess,chaos', '--wings names "chaos"; expected wings of landscaper, chess, or none'],
    ['', '--wings names ""; expected wings of landscaper, chess, or none'],
    ['chess,none', '--wings names "none"; expected wings of landscaper, chess, or none'],
    ['chess,chess', '--wings names "chess" twice; expected each wing once'],
  ])('is refused with what was expected: "%s"', (text, message) => {
    expect(() => enabledWings(text, KNOWN)).toThrow(new UsageError(message))
  })
})

describe('the flags of wings', () => {
  it('are flags of the worker', () => {
    expect(Object.keys(WING_FLAGS)).toEqual([
      'chaos-config',
      'metrics-sink',
      ...Object.keys(CONFIG_FLAGS),
      'pickup-timeout',
      'deployers',
      'strict-tenancy',
      'protect',
      'default-contexts',
      'default-context-repository',
      'default-context-excluded',
      'target-sync',
      'registry-local',
      'verify-signatures',
      'webhook-vouches',
      'target-allow',
    ])
  })

  const wings = {
    chess: { flags: { clock: { takes: '<duration>', reads: 'duration', otherwise: '2h', text: 'per player' } } },
    go: { flags: { komi: { takes: '<points>', reads: 'number', least: 0, otherwise: 6, text: 'for white' } } },
  } as const

  it('are read for each wing that is on', () => {
    const read = readWingFlags(['go', 'chess', 'bare'], { clock: '90s' }, wings)
    expect([...read]).toEqual([
      ['go', { komi: 6 }],
      ['chess', { clock: 90_000 }],
      ['bare', {}],
    ])
  })

  it('are refused when they are wrong, or their wing is off', () => {
    expect(() => readWingFlags(['go'], { komi: 'half' }, wings)).toThrow(
      '--komi is "half"; expected a whole number of at least 0',
    )
    expect(() => readWingFlags(['landscaper'], { 'verify-signatures': 'no' })).toThrow(
      '--verify-signatures is "no"; expected one of asked, always, never',
    )
    expect(() => readWingFlags(['go'], { clock: '1h' }, wings)).toThrow(
      '--clock is given, but wing chess, whose flag it is, is off; expected it in --wings',
    )
  })

  it('name what they were given where it is wrong', () => {
    expect(() => readWingFlags(['landscaper'], { 'target-allow': '127.0.0.0/8,https://here' })).toThrow(
      new UsageError(
        '--target-allow has "https://here"; expected a host such as 10.0.0.5:8080 or [::1]:6443, or addresses such as 127.0.0.0/8',
      ),
    )
  })

  it('tell the worker of pawl dev where its API server is, beside what pawl dev was given', () => {
    const given = (url: string, flags: GivenFlags) => devWingFlags(['landscaper'], { url, isOurs: false }, flags)
    expect(given('https://127.0.0.1:6443/', {})).toEqual({
      worker: ['--target-allow=127.0.0.1:6443'],
      bridge: [],
      webhook: [],
    })
    expect(given('https://kube.example', { 'target-allow': '10.0.0.1,::1' }).worker).toEqual([
      '--target-allow=kube.example:443,10.0.0.1,::1',
    ])
    expect(given('https://kube.example', { 'registry-local': './parts' }).worker).toEqual([
      '--registry-local=./parts',
      '--target-allow=kube.example:443',
    ])
    expect(devWingFlags([], { url: 'https://kube.example', isOurs: true }, {})).toEqual({
      worker: [],
      bridge: [],
      webhook: [],
    })
  })

  it('give the webhook of pawl dev what the worker has of the limits that operators set', () => {
    const flags = { 'chaos-config': './chaos.yaml' }
    const { worker, webhook } = devWingFlags(
      ['landscaper', 'chaos'],
      { url: 'https://kube.example', isOurs: true },
      flags,
    )
    expect(webhook).toEqual(['--chaos-config=./chaos.yaml'])
    expect(worker).toContain('--chaos-config=./chaos.yaml')
  })

  it('switch a controller on in pawl dev where the API server is its own, unless it is told otherwise', () => {
    const given = (isOurs: boolean, flags: GivenFlags) => {
      const { worker, bridge } = devWingFlags(['landscaper'], { url: 'https://kube.example', isOurs }, flags)
      return [worker.filter((flag) => flag.startsWith('--default-contexts=')), bridge]
    }
    const [yes, no] = ['yes', 'no'].map((word) => [[`--default-contexts=${word}`], [`--default-contexts=${word}`]])
    expect(given(true, {})).toEqual(yes)
    expect(given(true, { 'default-contexts': 'no' })).toEqual(no)
    expect(given(false, {})).toEqual([[], []])
    expect(given(false, { 'default-contexts': 'yes' })).toEqual(yes)
  })
})
