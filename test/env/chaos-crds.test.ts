// The validation of the CRDs of the chaos group without a webhook. Source: spec/chaos.md 1.2 to 1.6, and the parts of
// 4.2 that a schema can express.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import { resourcePath } from '../../activities/kube/resource-path.ts'
import { disruptionKind } from '../../workflows/chaos/disruption/kind.ts'
import { disruptionCronKind } from '../../workflows/chaos/disruption-cron/kind.ts'
import { disruptionRolloutKind } from '../../workflows/chaos/disruption-rollout/kind.ts'
import type { Kind } from '../../workflows/kit/index.ts'
import { installCrds } from '../../worker/dev/pawl-parts.ts'
import { Cluster } from '../support/cluster/cluster.ts'
import { specWith, DROP, REFUSED, ACCEPTED } from '../workflows/chaos/disruption/spec-cases.ts'
import { cronSpec, rolloutSpec, TEMPLATE } from '../workflows/chaos/parents.ts'

const cluster = new Cluster(inject('servers').kubeconfigPath, 'chaos-crds')
const { kube } = cluster

beforeAll(async () => {
  await cluster.createNamespace()
  await installCrds(inject('servers'), ['chaos'])
})
afterAll(() => kube.close())

async function create({ apiVersion, plural, kind }: Kind, spec: object): Promise<string> {
  const body = { apiVersion, kind, metadata: { name: 'one' }, spec }
  return await kube
    .request('POST', resourcePath({ apiVersion, plural }, cluster.namespace), {
      body,
      query: { dryRun: 'All', fieldValidation: 'Strict' },
    })
    .then(() => 'accepted', String)
}

describe('the CRD of Disruptions', () => {
  it.each(ACCEPTED)('accepts %j', async (spec) => {
    expect(await create(disruptionKind, specWith(spec))).toBe('accepted')
  })

  it.each(REFUSED)('rejects $fields of $spec, as far as CEL allows', async ({ spec, fields: [field], byRulesOnly }) => {
    const result = await create(disruptionKind, specWith(spec))
    if (byRulesOnly) expect(result).toBe('accepted')
    else expect(result).toContain(` is refused: ${field}: `)
  })

  it('rejects unknown fields under strict field validation', async () => {
    expect(await create(disruptionKind, specWith({ ...DROP, jitter: 1 }))).toContain('spec.jitter')
  })
})

describe('the CRDs of crons and rollouts', () => {
  it.each<readonly [Kind, object]>([
    [disruptionCronKind, cronSpec()],
    [
      disruptionCronKind,
      cronSpec({ paused: true, delayedStartTolerance: '15m', reporting: { slackChannel: 'team-a' } }),
    ],
    [disruptionRolloutKind, rolloutSpec({ targetResource: { kind: 'statefulset', name: 'db' } })],
  ])('take templates without a selector: %#', async (kind, spec) => {
    expect(await create(kind, spec)).toBe('accepted')
  })

  it.each<readonly [string, Kind, object]>([
    ['spec.schedule', disruptionCronKind, cronSpec({ schedule: '' })],
    ['spec.targetResource.kind', disruptionCronKind, cronSpec({ targetResource: { kind: 'daemonset', name: 'a' } })],
    ['spec.disruptionTemplate', disruptionCronKind, cronSpec({ disruptionTemplate: { count: 1 } })],
    [
      'spec.disruptionTemplate.count',
      disruptionRolloutKind,
      rolloutSpec({ disruptionTemplate: { ...TEMPLATE, count: 0 } }),
    ],
    [
      'spec.disruptionTemplate.containers',
      disruptionRolloutKind,
      rolloutSpec({ disruptionTemplate: { ...TEMPLATE, containers: ['a'], level: 'node' } }),
    ],
  ])('refuse %s', async (field, kind, spec) => {
    expect(await create(kind, spec)).toContain(` is refused: ${field}: `)
  })
})
