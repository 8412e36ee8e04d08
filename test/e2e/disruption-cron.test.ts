// Crons and rollouts on real servers. No test waits for a scheduled time: the status contains a last time long ago.
// Acceptance scenarios: spec/chaos.md 4.4.

import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { resourcePath } from '../../activities/kube/resource-path.ts'
import {
  DISRUPTION_CRON_NAME_LABEL,
  EMERGENCY_STOP_ANNOTATION,
  FINALIZER,
  SCHEDULED_AT_ANNOTATION,
} from '../../workflows/chaos/contract.ts'
import { disruptionCronFields } from '../../workflows/chaos/disruption-cron/fields.ts'
import { disruptionRolloutFields } from '../../workflows/chaos/disruption-rollout/fields.ts'
import { disruptionFields } from '../../workflows/chaos/disruption/fields.ts'
import { ChaosKubelet } from '../support/chaos/kubelet.ts'
import { metricsOf, valueOf } from '../support/pawl/scrape.ts'
import { CHAOS, PATIENT, useChaos } from '../support/chaos/tenants.ts'
import { watchFields } from '../support/chaos/watched-fields.ts'
import type { LsObject } from '../support/cluster/cluster.ts'

const MERGE = 'application/merge-patch+json'
const chaos = useChaos('disruption-cron', ['shop'])
const shop = () => chaos.of('shop').cluster
beforeAll(async () => {
  const labels = { app: 'web' }
  const containers = [{ name: 'app', image: 'web:1' }]
  await shop().kube.request('POST', DEPLOYMENTS, {
    body: {
      metadata: { name: 'web' },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    },
  })
})

const DEPLOYMENTS = '/apis/apps/v1/namespaces/shop/deployments'
const WEB = `${DEPLOYMENTS}/web`
const TARGET = { kind: 'deployment', name: 'web' }
/** The template selects no pod of the target, so no chaos pods have to end. */
const TEMPLATE = { selector: { tier: 'none' }, count: 1, duration: '10m', network: { drop: 30 } }
const SELECTOR = { tier: 'none', app: 'web' }
/** The beginning of this year. */
const YEARLY = { schedule: '0 0 1 1 *', delayedStartTolerance: '8784h' }

describe('a DisruptionCron', () => {
  const child = 'disruption-cron-game'

  it('creates one Disruption at the scheduled time, none next to it, and none during an emergency stop; deleting it deletes the Disruption', async () => {
    await create('DisruptionCron', 'game', { ...YEARLY, targetResource: TARGET, disruptionTemplate: TEMPLATE })
    const cron = await until('disruptioncrons', 'game', { status: { observedGeneration: 1 } })
    expect(cron.metadata.finalizers).toEqual([FINALIZER])
    expect(await find('disruptions', child)).toBeUndefined()

    await letItBeDue()
    const made = await until('disruptions', child, { spec: { ...TEMPLATE, selector: SELECTOR } })
    const { status } = await until('disruptioncrons', 'game', { status: { history: [{ name: child }] } })
    const { labels, annotations, ownerReferences } = made.metadata
    expect(labels).toMatchObject({ [DISRUPTION_CRON_NAME_LABEL]: 'game' })
    expect(annotations?.[SCHEDULED_AT_ANNOTATION]).toMatch(/^\d{4}-01-01T00:00:00Z$/)
    expect(status).toMatchObject({ lastScheduleTime: annotations?.[SCHEDULED_AT_ANNOTATION] })
    expect(ownerReferences).toMatchObject([{ kind: 'DisruptionCron', uid: cron.metadata.uid, controller: true }])

    // A status without the Disruption is updated from it, so its deletion causes no second one.
    await letItBeDue()
    await vi.waitFor(async () => expect(await lastSchedule()).toBe(annotations?.[SCHEDULED_AT_ANNOTATION]), PATIENT)
    expect((await find('disruptions', child))?.metadata.uid).toBe(made.metadata.uid)
    await remove('disruptions', child)
    await gone('disruptions', child)

    await annotate('too many alerts')
    await letItBeDue()
    await vi.waitFor(async () => expect(await reasons('DisruptionCron', 'game')).toContain('EmergencyStop'), PATIENT)
    expect(await find('disruptions', child)).toBeUndefined()
    // The history distinguishes Disruptions by creation times in whole seconds.
    const nextSecond = Date.parse(made.metadata.creationTimestamp ?? '') + 1000
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(nextSecond), PATIENT)
    await annotate(null)
    const second = await until('disruptions', child, {})
    expect(second.metadata.uid).not.toBe(made.metadata.uid)
    await until('disruptioncrons', 'game', { status: { history: [{ name: child }, { name: child }] } })

    await remove('disruptioncrons', 'game')
    await gone('disruptioncrons', 'game')
    expect(await find('disruptions', child)).toBeUndefined()
    expect(await reasons('DisruptionCron', 'game')).toEqual(
      expect.arrayContaining(['DisruptionCronCreated', 'DisruptionCronDeleted']),
    )
  })

  it('records a missing target, skips the times meanwhile, and clears the record when the target is back', async () => {
    const targetResource = { kind: 'statefulset', name: 'db' }
    await create('DisruptionCron', 'later', { ...YEARLY, targetResource, disruptionTemplate: TEMPLATE })
    const missing = expect.any(String) as string
    await until('disruptioncrons', 'later', { status: { targetResourcePreviouslyMissing: missing } })
    await letItBeDue('later')
    await until('disruptioncrons', 'later', {
      status: { lastSkippedTime: expect.any(String) as string, lastSkippedReason: 'TargetMissing' },
    })
    await patch('disruptioncrons', 'later', { spec: { targetResource: TARGET } })
    const { status } = await until('disruptioncrons', 'later', { status: { observedGeneration: 2 } })
    expect(status).not.toHaveProperty('targetResourcePreviouslyMissing')
    expect(await reasons('DisruptionCron', 'later')).toEqual([
      ...['DisruptionCronCreated', 'DisruptionCronSkipped', 'DisruptionCronUpdated'],
    ])
    await remove('disruptioncrons', 'later')
    await gone('disruptioncrons', 'later')
  })

  it('is deleted after its target has been missing for too long', async () => {
    const targetResource = { kind: 'statefulset', name: 'db' }
    await create('DisruptionCron', 'lost', { ...YEARLY, targetResource, disruptionTemplate: TEMPLATE })
    const since = { targetResourcePreviouslyMissing: expect.any(String) as string }
    await until('disruptioncrons', 'lost', { status: since })
    const longAgo = { targetResourcePreviouslyMissing: '2020-01-01T00:00:00Z' }
    await patch('disruptioncrons', 'lost', { status: longAgo }, 'status')
    await gone('disruptioncrons', 'lost')
    expect(await reasons('DisruptionCron', 'lost')).toEqual([
      ...['DisruptionCronCreated', 'DisruptionCronDeleted', 'DisruptionCronTargetMissing'],
    ])
  })

  it('counts a late time and a pause once each, and has a gauge for the next time', async () => {
    const spec = { ...YEARLY, delayedStartTolerance: '1ms', targetResource: TARGET, disruptionTemplate: TEMPLATE }
    await create('DisruptionCron', 'late', spec)
    await until('disruptioncrons', 'late', { status: { observedGeneration: 1 } })
    await letItBeDue('late')
    const skipped = { lastSkippedTime: expect.any(String) as string, lastSkippedReason: 'TooLate' }
    const nextScheduleTime = expect.stringMatching(/-01-01T00:00:00Z$/) as string
    await until('disruptioncrons', 'late', { status: { ...skipped, nextScheduleTime } })
    await vi.waitFor(async () => {
      expect(await metric('too_late')).toBe(1)
      expect(await metric('next_scheduled', ',name="late"')).toBeGreaterThan(0)
    }, PATIENT)

    await patch('disruptioncrons', 'late', { spec: { paused: true } })
    await until('disruptioncrons', 'late', { status: { pausedSince: expect.any(String) as string } })
    await patch('disruptioncrons', 'late', { spec: { paused: true, schedule: '0 0 2 1 *' } })
    const { status } = await until('disruptioncrons', 'late', { status: { observedGeneration: 3 } })
    expect(status).not.toHaveProperty('nextScheduleTime')
    await vi.waitFor(async () => {
      expect(await metric('next_scheduled', ',name="late"')).toBeUndefined()
    }, PATIENT)
    expect([await metric('paused'), await metric('too_late')]).toEqual([1, 1])
    expect(await find('disruptions', 'disruption-cron-late')).toBeUndefined()
    await remove('disruptioncrons', 'late')
    await gone('disruptioncrons', 'late')
  })

  async function letItBeDue(name = 'game'): Promise<void> {
    await patch('disruptioncrons', name, { status: { lastScheduleTime: '2020-01-01T00:00:00Z' } }, 'status')
  }

  async function lastSchedule(): Promise<unknown> {
    return ((await find('disruptioncrons', 'game'))?.status as Record<string, unknown> | undefined)?.[
      'lastScheduleTime'
    ]
  }
})

describe('a DisruptionRollout', () => {
  it("creates one Disruption after a change of its target's containers, and none after a change of replicas", async () => {
    const child = 'disruption-rollout-game'
    await create('DisruptionRollout', 'game', { targetResource: TARGET, disruptionTemplate: TEMPLATE })
    const { status } = await until('disruptionrollouts', 'game', { status: { latestTargetResource: 'deployment/web' } })
    expect(Object.keys(status ?? {})).not.toContain('lastContainerChangeTime')

    await shop().kube.request('PATCH', WEB, { body: { spec: { replicas: 3 } }, contentType: MERGE })
    await setContainers([{ name: 'app', image: 'web:2' }])
    const made = await until('disruptions', child, { spec: { selector: SELECTOR } })
    const first = await until('disruptionrollouts', 'game', {
      status: { lastScheduleTime: expect.any(String) as string },
    })
    await remove('disruptions', child)
    await gone('disruptions', child)

    await setContainers([
      { name: 'app', image: 'web:2' },
      { name: 'side', image: 'side:1' },
    ])
    const second = await until('disruptions', child, {})
    expect(second.metadata.uid).not.toBe(made.metadata.uid)
    const hashes = first.status as { latestContainersHash: Record<string, string> }
    await until('disruptionrollouts', 'game', {
      status: { latestContainersHash: { ...hashes.latestContainersHash, side: expect.any(String) as string } },
    })
    await remove('disruptionrollouts', 'game')
    await gone('disruptionrollouts', 'game')
    expect(await find('disruptions', child)).toBeUndefined()
  })

  it('records a missing target until it is back, skips a change that is too late, and counts it once', async () => {
    const targetResource = { kind: 'statefulset', name: 'db' }
    await create('DisruptionRollout', 'late', { targetResource, disruptionTemplate: TEMPLATE })
    const missing = expect.any(String) as string
    await until('disruptionrollouts', 'late', { status: { targetResourcePreviouslyMissing: missing } })
    await patch('disruptionrollouts', 'late', { spec: { targetResource: TARGET } })
    const { status } = await until('disruptionrollouts', 'late', { status: { latestTargetResource: 'deployment/web' } })
    expect(status).not.toHaveProperty('targetResourcePreviouslyMissing')
    const longAgo = '2020-01-01T00:00:00Z'
    await patch('disruptionrollouts', 'late', { status: { lastContainerChangeTime: longAgo } }, 'status')
    await until('disruptionrollouts', 'late', { status: { lastSkippedTime: longAgo } })
    await vi.waitFor(async () => expect(await metric('too_late', '', 'rollout')).toBe(1), PATIENT)
    await shop().kube.request('PATCH', WEB, { body: { spec: { replicas: 2 } }, contentType: MERGE })
    expect(await find('disruptions', 'disruption-rollout-late')).toBeUndefined()
    await remove('disruptionrollouts', 'late')
    await gone('disruptionrollouts', 'late')
    expect(await metric('too_late', '', 'rollout')).toBe(1)
  })

  async function setContainers(containers: readonly object[]): Promise<void> {
    const body = { spec: { template: { spec: { containers } } } }
    await shop().kube.request('PATCH', WEB, { body, contentType: MERGE })
  }
})

describe('the example', () => {
  beforeAll(async () => {
    const deployments = (await documentsIn('shop.yaml')).filter(({ kind }) => kind === 'Deployment')
    expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['shop', 'warehouse'])
    for (const body of deployments) await shop().kube.request('POST', DEPLOYMENTS, { body })
  })

  it('of a cron creates its Disruption of the shop at the scheduled time', async () => {
    const [{ metadata, spec }] = await documentsIn('cron.yaml')
    const child = `disruption-cron-${metadata.name}`
    await create('DisruptionCron', metadata.name, spec)
    await until('disruptioncrons', metadata.name, { status: { observedGeneration: 1 } })
    // The last scheduled time, however late.
    await patch('disruptioncrons', metadata.name, { spec: { delayedStartTolerance: '8784h' } })
    await patch('disruptioncrons', metadata.name, { status: { lastScheduleTime: '2020-01-01T00:00:00Z' } }, 'status')
    const made = await until('disruptions', child, { spec: { ...spec.disruptionTemplate, selector: { app: 'shop' } } })
    const [, time] = /T(.*)Z$/.exec(made.metadata.annotations?.[SCHEDULED_AT_ANNOTATION] ?? '') ?? []
    expect(['08:00:00', '09:00:00'], 'ten in Berlin, in summer or winter').toContain(time)
    await goWithChaosPods('disruptioncrons', metadata.name, made)
  })

  it('of a rollout creates its Disruption of the shop after a change of the image', async () => {
    const [{ metadata, spec }] = await documentsIn('rollout.yaml')
    const child = `disruption-rollout-${metadata.name}`
    await create('DisruptionRollout', metadata.name, spec)
    await until('disruptionrollouts', metadata.name, { status: { latestTargetResource: 'deployment/shop' } })
    expect(await find('disruptions', child)).toBeUndefined()
    const containers = [{ name: 'shop', image: 'shop:2' }]
    const body = { spec: { template: { spec: { containers } } } }
    await shop().kube.request('PATCH', `${DEPLOYMENTS}/shop`, { body, contentType: MERGE })
    const made = await until('disruptions', child, { spec: { ...spec.disruptionTemplate, selector: { app: 'shop' } } })
    await goWithChaosPods('disruptionrollouts', metadata.name, made)
  })

  /** The pods of the shop run, so chaos pods may exist, which no node deletes. */
  async function goWithChaosPods(plural: string, name: string, made: LsObject): Promise<void> {
    const kubelet = new ChaosKubelet(shop().kube)
    await remove(plural, name)
    await vi.waitFor(async () => {
      for (const pod of await kubelet.pods(made)) await kubelet.bury(pod)
      expect(await find(plural, name)).toBeUndefined()
    }, PATIENT)
    expect(await kubelet.pods(made)).toEqual([])
  }
})

watchFields(chaos, 'shop', { owners: [disruptionCronFields, disruptionRolloutFields], others: [disruptionFields] })

interface Example {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: { readonly disruptionTemplate: object }
}

/** An object of a file in examples/chaos. */
async function documentsIn(file: string): Promise<readonly [Example, ...Example[]]> {
  const text = await readFile(new URL(`../../examples/chaos/${file}`, import.meta.url), 'utf8')
  return parseAllDocuments(text).map((document) => document.toJS() as Example) as [Example, ...Example[]]
}

async function metric(name: string, labels = '', whose = 'cron'): Promise<number | undefined> {
  const served = await metricsOf(chaos.tenants.pawl.log('worker'))
  return valueOf(served, `chaos_${whose}_controller_schedule_${name}`, `namespace="shop"${labels}`)
}

const path = (plural: string, name: string, subresource?: string) =>
  resourcePath({ apiVersion: CHAOS, plural }, 'shop', name, subresource)

async function create(kind: string, name: string, spec: object): Promise<void> {
  await shop().create({ apiVersion: CHAOS, kind, metadata: { name }, spec }, `${kind.toLowerCase()}s`)
}

async function find(plural: string, name: string): Promise<LsObject | undefined> {
  return await shop().get(plural, name, CHAOS)
}

async function until(plural: string, name: string, expected: object): Promise<LsObject> {
  return await vi.waitFor(async () => {
    const found = await find(plural, name)
    if (found === undefined) throw new Error(`${plural} ${name} is not there`)
    expect(found).toMatchObject(expected)
    return found
  }, PATIENT)
}

async function patch(plural: string, name: string, body: object, subresource?: string): Promise<void> {
  await shop().kube.request('PATCH', path(plural, name, subresource), { body, contentType: MERGE })
}

async function remove(plural: string, name: string): Promise<void> {
  await shop().kube.request('DELETE', path(plural, name))
}

async function gone(plural: string, name: string): Promise<void> {
  await vi.waitFor(async () => expect(await find(plural, name)).toBeUndefined(), PATIENT)
}

async function annotate(stop: string | null): Promise<void> {
  await chaos.of('shop').annotateNamespace({ [EMERGENCY_STOP_ANNOTATION]: stop })
}

const reasons = async (kind: string, name: string) => await chaos.of('shop').reasons(kind, name)
