import { describe, expect, it } from 'vitest'

import {
  type AdmissionPolicy,
  policyProblems,
  finalizerProblems,
} from '../../../../../workflows/chaos/disruption/rules/policy.ts'
import { FINALIZER } from '../../../../../workflows/chaos/contract.ts'
import { disrupting, DROP } from '../spec-cases.ts'

// 2026-01-01T00:00:00Z
const NOW_MS = 1_767_225_600_000
const safeMode = {
  enable: true,
  allowNodeFailure: true,
  allowNodeLevel: true,
  environment: '',
  permittedUserGroups: [],
}
const controller = { deleteOnly: false, defaultDurationMs: 3_600_000, disabledDisruptions: [], safeMode }
const handler = { enabled: true }

type Changes = Partial<AdmissionPolicy['controller']> & {
  readonly safe?: Partial<AdmissionPolicy['controller']['safeMode']>
  readonly handler?: AdmissionPolicy['handler']
}

function asked({ safe, handler: ofHandler = handler, ...more }: Changes, spec: object, metadata: object = {}) {
  const policy = { controller: { ...controller, ...more, safeMode: { ...safeMode, ...safe } }, handler: ofHandler }
  const object = { metadata: { name: 'game', ...metadata }, spec: disrupting(spec) }
  return policyProblems(policy, { object, groups: ['team-a', 'all'], nowMs: NOW_MS }).map(({ field }) => field)
}

interface Creation {
  readonly what: string
  readonly changes?: Changes
  readonly spec?: object
  readonly metadata?: object
}

const beginning = (notBefore: string) => ({ ...DROP, triggers: { createPods: { notBefore } } })
const STAGING = { safe: { environment: 'staging' } }
const OPS = { safe: { permittedUserGroups: ['ops'] } }
const HOUR = { maxDurationMs: 3_600_000 }

describe('the creation of a Disruption', () => {
  it.each<Creation>([
    { what: 'that lasts as long as is allowed', changes: HOUR, spec: { ...DROP, duration: '60m' } },
    { what: 'that lasts as long as is usual', changes: HOUR },
    { what: 'by somebody of a group that may', changes: { safe: { permittedUserGroups: ['ops', 'team-a'] } } },
    { what: 'that begins on init with the handler', spec: { ...DROP, onInit: true } },
    { what: 'that begins now', spec: beginning('2026-01-01T00:00:00Z') },
    {
      what: 'that means this environment',
      changes: STAGING,
      metadata: { annotations: { 'chaos.datadoghq.com/environment': 'staging' } },
    },
    { what: 'with another kind than one that is disabled', changes: { disabledDisruptions: ['cpu-pressure'] } },
    {
      what: 'of nodes without safe mode',
      changes: { safe: { enable: false, allowNodeLevel: false } },
      spec: { ...DROP, level: 'node' },
    },
  ])('is allowed $what', ({ changes = {}, spec = DROP, metadata }) => {
    expect(asked(changes, spec, metadata)).toEqual([])
  })

  it.each<Creation & { readonly field: string }>([
    { what: 'when there are only deletions', changes: { deleteOnly: true }, field: '' },
    { what: 'by somebody else (A17)', changes: OPS, field: '' },
    { what: 'with a name that is no label', metadata: { name: 'x'.repeat(64) }, field: 'metadata.name' },
    {
      what: 'that does not say which environment it means (A17)',
      changes: STAGING,
      field: 'metadata.annotations[chaos.datadoghq.com/environment]',
    },
    {
      what: 'on init without the handler (A6)',
      changes: { handler: { enabled: false } },
      spec: { ...DROP, onInit: true },
      field: 'spec.onInit',
    },
    {
      what: 'that ought to have begun (A8)',
      spec: beginning('2025-12-31T23:59:59Z'),
      field: 'spec.triggers.createPods.notBefore',
    },
    { what: 'that lasts too long (A13)', changes: HOUR, spec: { ...DROP, duration: '1h1ms' }, field: 'spec.duration' },
    { what: 'that lasts too long by default (A13)', changes: { maxDurationMs: 60_000 }, field: 'spec.duration' },
    {
      what: 'of a kind that is disabled (A13)',
      changes: { disabledDisruptions: ['network-disruption'] },
      field: 'spec.network',
    },
    {
      what: 'of nodes',
      changes: { safe: { allowNodeLevel: false } },
      spec: { ...DROP, level: 'node' },
      field: 'spec.level',
    },
    {
      what: 'of failing nodes',
      changes: { safe: { allowNodeFailure: false } },
      spec: { nodeFailure: {} },
      field: 'spec.nodeFailure',
    },
  ])('is refused $what', ({ changes = {}, spec = DROP, metadata, field }) => {
    expect(asked(changes, spec, metadata)).toEqual([field])
  })
})

describe('the finalizer of a Disruption', () => {
  const withFinalizers = (...finalizers: readonly string[]) => ({ metadata: { finalizers } })

  it('must stay while chaos pods exist, and the error names them (A16)', () => {
    const problems = finalizerProblems(withFinalizers(FINALIZER), withFinalizers('other'), ['chaos-a', 'chaos-b'])
    expect(problems.map(({ field }) => field)).toEqual(['metadata.finalizers'])
    expect(problems[0]?.expected).toContain('chaos-a, chaos-b')
  })

  it('may be removed without chaos pods', () => {
    expect(finalizerProblems(withFinalizers(FINALIZER), {}, [])).toEqual([])
    expect(finalizerProblems(withFinalizers(FINALIZER, 'other'), withFinalizers(FINALIZER), ['chaos-a'])).toEqual([])
    expect(finalizerProblems({}, {}, ['chaos-a'])).toEqual([])
  })
})
