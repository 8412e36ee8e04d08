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
import { foundationdbWing } from '../../../workflows/foundationdb/wing.ts'

const KNOWN = ['landscaper', 'chess']

describe('the flag --wings', () => {
  it('selects the enabled wings; without it, all are enabled', () => {
    expect(enabledWings(undefined, KNOWN)).toEqual(KNOWN)
    expect(enabledWings('chess, landscaper', KNOWN)).toEqual(['chess', 'landscaper'])
    expect(enabledWings(undefined)).toEqual(['landscaper'])
    expect(enabledWings('none', KNOWN)).toEqual([])
    expect([lacksDefaultWing(enabledWings(undefined)), lacksDefaultWing([])]).toEqual([false, true])
  })

  it('must name a wing that is not enabled by default', () => {
    const saying = { chess: { onlyWhenNamed: true } } as const
    expect(enabledWings(undefined, KNOWN, saying)).toEqual(['landscaper'])
    expect(enabledWings('chess', KNOWN, saying)).toEqual(['chess'])
    const parts = [['landscaper'], ['landscaper', 'chess'], ['chess'], []]
    expect(parts.map((wings) => lacksDefaultWing(wings, KNOWN, saying))).toEqual([false, false, true, true])
  })

  it.each([
    ['chess,chaos', '--wings: found "chaos"; expected wings of landscaper, chess, or none'],
    ['', '--wings: found ""; expected wings of landscaper, chess, or none'],
    ['chess,none', '--wings: found "none"; expected wings of landscaper, chess, or none'],
    ['chess,chess', '--wings: found "chess" twice; expected each wing once'],
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
      ...Object.keys(foundationdbWing.flags),
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

  it('are parsed for each enabled wing', () => {
    const read = readWingFlags(['go', 'chess', 'bare'], { clock: '90s' }, wings)
    expect([...read]).toEqual([
      ['go', { komi: 6 }],
      ['chess', { clock: 90_000 }],
      ['bare', {}],
    ])
  })

  it('are rejected with a wrong value, or if their wing is disabled', () => {
    expect(() => readWingFlags(['go'], { komi: 'half' }, wings)).toThrow(
      '--komi: found "half"; expected a whole number of at least 0',
    )
    expect(() => readWingFlags(['landscaper'], { 'verify-signatures': 'no' })).toThrow(
      '--verify-signatures: found "no"; expected one of asked, always, never',
    )
    expect(() => readWingFlags(['landscaper'], { 'target-allow': '127.0.0.0/8,https://here' })).toThrow(
      '--target-allow has "https://here"; expected a host such as 10.0.0.5:8080 or [::1]:6443, or addresses such as 127.0.0.0/8',
    )
    expect(() => readWingFlags(['go'], { clock: '1h' }, wings)).toThrow(
      '--clock: the flag belongs to wing chess, which is off; add chess to --wings',
    )
  })

  it('pass the API server and the flags of pawl dev to its worker', () => {
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

  it("pass the operators' limits to worker and webhook of pawl dev", () => {
    const flags = { 'chaos-config': './chaos.yaml' }
    const { worker, webhook } = devWingFlags(
      ['landscaper', 'chaos'],
      { url: 'https://kube.example', isOurs: true },
      flags,
    )
    expect(webhook).toEqual(['--chaos-config=./chaos.yaml'])
    expect(worker).toContain('--chaos-config=./chaos.yaml')
  })

  it('enable a controller in pawl dev if it runs the API server, unless a flag disables it', () => {
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
