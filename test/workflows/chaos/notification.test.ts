import { describe, expect, it } from 'vitest'
import {
  authorOf,
  httpDocument,
  reachesMinimum,
  notificationType,
  type Occurrence,
  slackMessage,
  datadogEvent,
} from '../../../workflows/chaos/notification.ts'

function occurrence(more: Partial<Occurrence> = {}): Occurrence {
  return {
    kind: 'Disruption',
    namespace: 'shop',
    name: 'slow',
    uid: 'u1',
    type: 'Normal',
    atMs: 1_764_000_000_123,
    reason: 'Finished',
    message: 'everything is undone',
    object: undefined,
    ...more,
  }
}

describe('a notification', () => {
  it.each([
    ['Warning', 'StuckOnRemoval', 'Warning'],
    ['Normal', 'RecoveredWarningStateInTargetPod', 'Success'],
    ['Normal', 'RecoveredWarningStateInTargetNode', 'Success'],
    ['Normal', 'DurationOver', 'Completion'],
    ['Normal', 'GCOver', 'Completion'],
    ['Normal', 'Finished', 'Completion'],
    ['Normal', 'ChaosPodCreated', 'Info'],
  ] as const)('of a %s event %s is %s', (type, reason, expected) => {
    expect(notificationType({ type, reason })).toBe(expected)
  })

  it('reaches receivers with the same or a lower minimum type, which is Success by default', () => {
    expect(reachesMinimum('Info', '')).toBe(false)
    expect(reachesMinimum('Success', undefined)).toBe(true)
    expect(reachesMinimum('Info', 'Info')).toBe(true)
    expect(reachesMinimum('Completion', 'Warning')).toBe(false)
    expect(reachesMinimum('Warning', 'Warning')).toBe(true)
  })

  it('names the creator of the Disruption or of its cron, and an address only if the name is one', () => {
    const by = (annotations: object) => authorOf({ metadata: { annotations } })
    const UserInfo = JSON.stringify({ username: 'ann@example.com', groups: ['dev'] })
    expect(by({ UserInfo })).toEqual({ username: 'ann@example.com', email: 'ann@example.com', groups: ['dev'] })
    const copied = { 'chaos.datadoghq.com/user': 'bob', 'chaos.datadoghq.com/user-groups': '["ops"]' }
    const worker = JSON.stringify({ username: 'system:serviceaccount:pawl:pawl-worker', groups: [] })
    for (const cron of [copied, { ...copied, UserInfo: worker }])
      expect(by(cron)).toEqual({ username: 'bob', email: '', groups: ['ops'] })
    // A user may write the annotations of a cron's children.
    expect(by({ ...copied, UserInfo })).toMatchObject({ username: 'ann@example.com', groups: ['dev'] })
    expect(by({ UserInfo: 'no JSON' })).toEqual({ username: '', email: '', groups: [] })
    expect(authorOf(undefined)).toEqual({ username: '', email: '', groups: [] })
  })

  it('is a JSON:API document with the whole object', () => {
    const object = {
      apiVersion: 'chaos.datadoghq.com/v1beta1',
      metadata: {
        name: 'slow',
        managedFields: [{}],
        annotations: { UserInfo: '{"username":"ann@example.com","groups":[]}' },
      },
      status: { targetInjections: { a: {}, b: {} } },
    }
    const { data } = httpDocument(occurrence({ object }), 'one')
    expect(data).toEqual({
      type: 'http_notifier_events',
      id: 'u1',
      attributes: {
        name: 'slow',
        namespace: 'shop',
        cluster: 'one',
        involved_object_kind: 'Disruption',
        notification_title: "Disruption 'slow' is over.",
        notification_type: 'Completion',
        event_reason: 'Finished',
        timestamp: 1_764_000_000_123_000_000,
        targets_count: 2,
        event_message: "Disruption 'slow' emitted the event Finished: everything is undone",
        manifest: data.attributes.manifest,
        disruption: data.attributes.manifest,
        disruption_name: 'slow',
        username: 'ann@example.com',
        user_groups: '[]',
        user_email: 'ann@example.com',
      },
    })
    expect(JSON.parse(data.attributes.manifest)).toEqual({
      ...object,
      kind: 'Disruption',
      metadata: { name: 'slow', annotations: object.metadata.annotations },
    })
  })

  it('shortens a long object by the fields of targets, and a longer one to its identity', () => {
    const long = (more: object) => ({ metadata: { name: 'slow' }, spec: {}, status: { runCount: 1, ...more } })
    const manifest = (object: object) => {
      const { data } = httpDocument(occurrence({ object }), '')
      return JSON.parse(data.attributes.manifest) as { readonly status?: object }
    }
    expect(manifest(long({ targets: ['x'.repeat(200_000)] })).status).toEqual({ runCount: 1 })
    expect(manifest(long({ other: 'x'.repeat(200_000) }))).toEqual({
      kind: 'Disruption',
      metadata: { namespace: 'shop', name: 'slow', uid: 'u1' },
    })
  })

  it('consists of Slack blocks, in which texts of users cannot mention users or channels', () => {
    const object = { spec: { reporting: { purpose: 'to see <!channel> & more' } } }
    const { text, blocks } = slackMessage(occurrence({ object, message: '<@U1> went' }), '')
    expect(text).toBe("Disruption 'slow' is over.")
    const told = JSON.stringify(blocks)
    expect(told).toContain('*Purpose:*\\nto see &lt;!channel&gt; &amp; more')
    expect(told).toContain('*Cluster:*\\nn/a')
    expect(told).toContain('> Disruption `slow` emitted the event `Finished`: &lt;@U1&gt; went')
  })
})

const told = (more: Partial<Occurrence>): Occurrence => ({
  kind: 'Disruption',
  namespace: 'shop',
  name: 'slow',
  uid: 'u',
  type: 'Normal',
  reason: 'Injected',
  message: 'all of it',
  atMs: 0,
  object: undefined,
  ...more,
})

describe('the Datadog event of an Event', () => {
  it('has title, text and tags, including the tags from the selector', () => {
    const selector = { team: 'a-team', app: 'web', tier: 'front' }
    expect(datadogEvent(told({ object: { spec: { selector } } }))).toEqual({
      title: "Disruption 'slow' received a notification.",
      text: "Disruption 'slow' emitted the event Injected: all of it",
      alertType: 'info',
      tags: { team: 'a-team', app: 'web', disruption_name: 'slow' },
    })
    expect(datadogEvent(told({ kind: 'DisruptionCron', name: 'daily' })).tags).toEqual({ disruptioncron_name: 'daily' })
  })

  it.each([
    ['warning', { type: 'Warning', reason: 'CreateFailed' }],
    ['success', { reason: 'RecoveredWarningStateInTargetPod' }],
    ['info', { reason: 'Finished' }],
    ['info', { reason: 'Created' }],
  ] as const)('is of type %s: %j', (alertType, more) => {
    expect(datadogEvent(told(more)).alertType).toBe(alertType)
  })

  it('fits into a datagram', () => {
    const { title, text } = datadogEvent(told({ name: 'n'.repeat(300), message: 'm'.repeat(10_000) }))
    expect([title.length, text.length]).toEqual([100, 4000])
  })
})
