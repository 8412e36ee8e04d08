// The admission rules that need the configuration or the cluster: for crons and rollouts, finalizers, and default values.

import { describe, expect, it } from 'vitest'

import { openAsyncRules } from '../../../activities/chaos/further-rules.ts'
import { DURATION_MUTATION } from '../../../workflows/chaos/disruption/rules/timing.ts'
import { disruptionKind } from '../../../workflows/chaos/disruption/kind.ts'
import { disruptionRolloutKind } from '../../../workflows/chaos/disruption-rollout/kind.ts'
import { disruptionCronKind } from '../../../workflows/chaos/disruption-cron/kind.ts'
import { TOLERANCE_MUTATION } from '../../../workflows/chaos/disruption-cron/rules/cron.ts'
import type { Kind } from '../../../workflows/kit/index.ts'
import { specWith, DROP } from '../../workflows/chaos/disruption/spec-cases.ts'
import { fields, HOSTS, HOUR, kube, pods, REQUEST, rulesBy, told, stage, useRuleStage } from './rule-stage.ts'

useRuleStage()

describe('a cron or rollout that operators have disabled', () => {
  const warningsOf = async (kind: Kind, config?: object) =>
    await rulesBy(config).warnings?.({ ...REQUEST, kind, object: {} })

  it('is admitted with a warning', async () => {
    const config = { controller: { disruptionCronEnabled: false, disruptionRolloutEnabled: false } }
    expect(await warningsOf(disruptionCronKind, config)).toEqual([
      'controller.disruptionCronEnabled is false, so no Disruption is created',
    ])
    expect(await warningsOf(disruptionRolloutKind, config)).toEqual([
      'controller.disruptionRolloutEnabled is false, so no Disruption is created',
    ])
    for (const kind of [disruptionCronKind, disruptionRolloutKind]) expect(await warningsOf(kind)).toEqual([])
  })
})

describe.each([disruptionCronKind, disruptionRolloutKind])('the template of a $kind', (kind) => {
  const REJECTS = '; the webhook will reject each Disruption of this template'
  it.each<[string, object, string, object?]>([
    [
      'neither hosts nor services',
      { network: { drop: 1 } },
      'spec.disruptionTemplate.network: found neither hosts nor services; expected hosts or services, or unsafeMode.disableNeitherHostNorPort: true',
    ],
    [
      'a duration that is too long',
      { ...HOSTS, duration: '61m' },
      'spec.disruptionTemplate.duration: found 1h1m0s; expected at most 1h0m0s',
      HOUR,
    ],
    [
      'onInit without the handler',
      { ...HOSTS, onInit: true },
      'spec.disruptionTemplate.onInit: found true; expected false, because handler.enabled is false',
    ],
  ])('with %s is accepted with a warning', async (_, template, warning, config) => {
    const rules = rulesBy(config)
    const of = (disruptionTemplate: object) => ({ ...REQUEST, kind, object: { spec: { disruptionTemplate } } })
    expect(await rules.warnings?.(of(template))).toEqual([`${warning}${REJECTS}`])
    expect(await rules.warnings?.(of(HOSTS))).toEqual([])
  })
})

describe('the finalizer of a Disruption', () => {
  const held = (finalizers: readonly string[]) => ({ metadata: { name: 'game', namespace: 'shop', finalizers } })
  const HELD = held(['finalizer.chaos.datadoghq.com'])
  const off = async (object: object, kind: Kind = disruptionKind, old: object = HELD) =>
    fields((await rulesBy().metadata?.({ ...REQUEST, kind, operation: 'UPDATE', old, object })) ?? [])
  const path = '/api/v1/namespaces/chaos-engineering/pods'
  const labels = 'chaos.datadoghq.com/disruption-name=game,chaos.datadoghq.com/disruption-namespace=shop'

  it('must stay while chaos pods exist (A16)', async () => {
    stage.there[path] = pods(1)
    expect(await off(held([]))).toEqual(['metadata.finalizers a removed finalizer'])
    expect(stage.asked).toEqual([`${path} ${labels} 11`])
  })

  it('must stay while chaos pods exist in the recorded namespace', async () => {
    const begun = '/api/v1/namespaces/disturbers/pods'
    stage.there[begun] = pods(1)
    const object = { ...held([]), status: { chaosNamespace: 'disturbers' } }
    const old = { ...HELD, status: { chaosNamespace: 'disturbers' } }
    expect(await off(object, disruptionKind, old)).toEqual(['metadata.finalizers a removed finalizer'])
    expect(stage.asked).toEqual([`${begun} ${labels} 11`])
  })

  it('may be removed after the last chaos pod, and others at any time', async () => {
    stage.there[path] = []
    expect(await off(held([]))).toEqual([])
    stage.there[path] = pods(1)
    const both = held(['finalizer.chaos.datadoghq.com', 'other'])
    expect(await off(HELD, disruptionKind, both)).toEqual([])
    expect(await off(held([]), disruptionKind, held(['other']))).toEqual([])
  })

  it('causes no request if it stays, or for other kinds', async () => {
    stage.there[path] = pods(1)
    expect([...(await off(HELD)), ...(await off(held([]), disruptionCronKind))]).toEqual([])
    expect(stage.asked).toEqual([])
  })
})

describe('a DisruptionCron', () => {
  it("must meet the operators' rules", async () => {
    const template = specWith(DROP)
    const object = { metadata: { name: 'nightly' }, spec: { schedule: '*/5 * * * *', disruptionTemplate: template } }
    const config = { controller: { defaultDuration: '4m30s', safeMode: { permittedUserGroups: ['ops'] } } }
    expect(await told({}, config, { object, kind: disruptionCronKind })).toEqual([
      ' a user of the groups dev',
      'spec.schedule 30s between the end of a Disruption and the next one',
    ])
  })
})

describe('the operators’ configuration', () => {
  it('sets the default durations', () => {
    const rules = rulesBy({ controller: { defaultDuration: '5m', defaultCronDelayedStartTolerance: '15m' } })
    const request = { ...REQUEST, object: {} }
    expect([
      rules.mutate?.(DURATION_MUTATION, { ...request, kind: disruptionKind }),
      rules.mutate?.(TOLERANCE_MUTATION, { ...request, kind: disruptionCronKind }),
      rules.mutate?.('another', { ...request, kind: disruptionKind }),
    ]).toEqual([
      [{ path: ['spec', 'duration'], value: '5m0s' }],
      [{ path: ['spec', 'delayedStartTolerance'], value: '15m0s' }],
      [],
    ])
  })

  it('keeps the webhook from starting if it is invalid', () => {
    expect(() => rulesBy({ controller: { deleteOnly: 'perhaps' } })).toThrow(/controller\.deleteOnly: found "perhaps"/)
  })

  it('keeps the webhook from starting if metrics have no destination', () => {
    const open = (flags: object, statsd: object) =>
      openAsyncRules({
        kube,
        warn: () => undefined,
        flags: { 'chaos-config': undefined, ...flags },
        metrics: { source: { addObserver: () => undefined }, statsd },
      })
    const sink = { 'metrics-sink': 'datadog' }
    expect(() => open(sink, {})).toThrow('controller.metricsSink): found neither STATSD_URL nor DD_AGENT_HOST')
    expect(() => open(sink, { url: 'unix:///dsd.socket' })).toThrow("STATSD_URL: found 'unix:///dsd.socket'")
    expect(() => open({}, {})).not.toThrow()
  })
})
