import { describe, expect, it } from 'vitest'

import { childDisruption, childName, type Parent, scheduledAtMs } from '../../../workflows/chaos/child-disruption.ts'
import type { DisruptionSpec } from '../../../workflows/chaos/disruption/kind.ts'
import { specProblems } from '../../../workflows/chaos/disruption/rules/spec.ts'
import { TEMPLATE } from './parents.ts'

const AT_MS = Date.parse('2026-01-01T00:15:00Z')
const parent = (
  more: Partial<Parent<DisruptionSpec>['metadata']> = {},
  template: object = {},
): Parent<DisruptionSpec> => ({
  kind: 'DisruptionCron',
  metadata: { name: 'game', namespace: 'shop', ...more },
  spec: { disruptionTemplate: { ...TEMPLATE, ...template } },
})

describe('the Disruption of a cron', () => {
  it('has the fixed name, the scheduled time, and the pods of the target', () => {
    const child = childDisruption(parent(), { matchLabels: { app: 'shop' } }, AT_MS)
    expect(child).toEqual({
      metadata: {
        name: 'disruption-cron-game',
        namespace: 'shop',
        labels: { 'chaos.datadoghq.com/disruption-cron-name': 'game' },
        annotations: { 'chaos.datadoghq.com/scheduled-at': '2026-01-01T00:15:00Z' },
      },
      spec: { ...TEMPLATE, selector: { app: 'shop' } },
    })
    expect(specProblems(child.spec)).toEqual([])
    expect(scheduledAtMs(child)).toBe(AT_MS)
  })

  it('has the annotations of the cron, and its creator', () => {
    const annotations = {
      'chaos.datadoghq.com/environment': 'staging',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      UserInfo: '{"username":"ada","groups":["ops","all"]}',
    }
    expect(childDisruption(parent({ annotations }), {}, AT_MS).metadata.annotations).toEqual({
      'chaos.datadoghq.com/environment': 'staging',
      'chaos.datadoghq.com/user': 'ada',
      'chaos.datadoghq.com/user-groups': '["ops","all"]',
      'chaos.datadoghq.com/scheduled-at': '2026-01-01T00:15:00Z',
    })
  })

  it.each(['', 'ada', '[]', 'null', '{"username":1}'])('has no user if the annotation is invalid: %s', (UserInfo) => {
    const { annotations } = childDisruption(parent({ annotations: { UserInfo } }), {}, AT_MS).metadata
    expect(Object.keys(annotations)).toEqual(['chaos.datadoghq.com/scheduled-at'])
  })

  it('selects the pods of the target that also match the template', () => {
    const advancedSelector = [{ key: 'canary', operator: 'Exists' }]
    const selector = {
      matchLabels: { app: 'shop' },
      matchExpressions: [{ key: 'tier', operator: 'In', values: ['web'] }],
    }
    expect(
      childDisruption(parent({}, { selector: { zone: 'a' }, advancedSelector }), selector, AT_MS).spec,
    ).toMatchObject({
      selector: { zone: 'a', app: 'shop' },
      advancedSelector: [...advancedSelector, { key: 'tier', operator: 'In', values: ['web'] }],
    })
  })

  it('selects no pod if the template contradicts the target', () => {
    const { spec } = childDisruption(parent({}, { selector: { app: 'till' } }), { matchLabels: { app: 'shop' } }, AT_MS)
    expect(spec.selector).toEqual({ app: 'shop' })
    expect(spec.advancedSelector).toEqual([{ key: 'app', operator: 'In', values: ['till'] }])
  })
})

describe('the Disruption of a rollout', () => {
  it('has the name and the label of the rollout', () => {
    const rollout: Parent<DisruptionSpec> = { ...parent(), kind: 'DisruptionRollout' }
    const { metadata } = childDisruption(rollout, {}, AT_MS)
    expect([metadata.name, childName(rollout)]).toEqual(['disruption-rollout-game', 'disruption-rollout-game'])
    expect(metadata.labels).toEqual({ 'chaos.datadoghq.com/disruption-rollout-name': 'game' })
  })

  it('has no time if the annotation is invalid', () => {
    expect(scheduledAtMs({ metadata: { annotations: { 'chaos.datadoghq.com/scheduled-at': 'soon' } } })).toBeUndefined()
    expect(scheduledAtMs({ metadata: {} })).toBeUndefined()
  })
})
