// The notifiers of Disruptions: an HTTP webhook and Slack, both a local HTTP server, and a Datadog agent, a UDP socket.
// Source: spec/chaos.md 2.14, 2.15.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporal } from '@temporalio/proto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { NOTIFICATION_RUN } from '../../workflows/kit/index.ts'
import { Datagrams } from '../support/chaos/datagrams.ts'
import { ChaosKubelet } from '../support/chaos/kubelet.ts'
import { Receiver } from '../support/chaos/receiver.ts'
import { PATIENT, SHORT_TIMEOUTS, useChaos } from '../support/chaos/tenants.ts'

const SECRETS = { header: 'planted-header-secret', path: 'planted-path-secret', token: 'planted-bot-token' }
const receiver = await Receiver.start()
const agent = await Datagrams.open()
const environments = { worker: { STATSD_URL: agent.url } }
const controller = (folder: string) => {
  const [tokenFilepath, headersFilepath] = [join(folder, 'slack-token'), join(folder, 'headers')]
  writeFileSync(tokenFilepath, `${SECRETS.token}\n`)
  writeFileSync(headersFilepath, `X-Secret: ${SECRETS.header}\n`)
  return {
    metricsSink: 'datadog',
    notifiers: {
      datadog: { enabled: true },
      common: { clusterName: 'test-cluster', attempts: 3, retryInterval: '100ms' },
      http: {
        headers: ['X-Plain: plain'],
        headersFilepath,
        disruption: { enabled: true, url: `${receiver.url}/hook/${SECRETS.path}` },
      },
      slack: { enabled: true, tokenFilepath, apiURL: `${receiver.url}/api/`, mirrorSlackChannelId: 'C0MIRROR' },
    },
  }
}
const chaos = useChaos('notifiers', ['shop'], controller, { environments, workerFlags: SHORT_TIMEOUTS })
const shop = () => chaos.of('shop')
let kubelet: ChaosKubelet
beforeAll(async () => {
  kubelet = new ChaosKubelet(shop().cluster.kube)
  await shop().makeNode('n1')
})
afterAll(async () => {
  await receiver.close()
  await agent.close()
})
beforeEach(() => {
  receiver.answering = (_, response) => response.end('{"ok":true}')
})

interface Document {
  readonly data: { readonly id: string; readonly attributes: Readonly<Record<string, unknown>> }
}

function told(made: KubeObject) {
  return receiver.received
    .filter(({ path }) => path.startsWith('/hook/'))
    .map(({ headers, body }) => ({ headers, ...(body as Document).data }))
    .filter(({ id, attributes }) => id === made.metadata.uid && isMeant(String(attributes['event_reason'])))
}

/** A pass before the pod's watch event finds no target. */
const isMeant = (reason: string) => reason !== 'NoTargetsFound'

/** Each notification once, because delivery is at least once. */
const reasonsOf = (made: KubeObject) =>
  [
    ...new Map(
      told(made).map(({ headers, attributes }) => [headers['idempotency-key'], attributes['event_reason']]),
    ).values(),
  ].sort()

const posted = (...texts: readonly string[]) => {
  const posts = receiver.received.filter(({ path }) => path === '/api/chat.postMessage')
  const bodies = new Set(posts.map(({ body }) => JSON.stringify(body)))
  return [...bodies].filter(
    (body) => isMeant(/event `(\w+)`/.exec(body)?.[1] ?? '') && texts.every((text) => body.includes(text)),
  )
}

async function disturbed(name: string, spec: object = {}): Promise<KubeObject> {
  await shop().runPod(name, { labels: { app: name }, node: 'n1' })
  return await shop().disrupt(name, { selector: { app: name }, count: 1, duration: '10m', cpuPressure: {}, ...spec })
}

describe('the notifiers of Disruptions', () => {
  it("send each Event once, with its object, under chaos-controller's names, and metrics to a Datadog agent", async () => {
    const made = await disturbed('web', {
      reporting: { slackChannel: 'web-team', purpose: 'to see what breaks', minNotificationType: 'Completion' },
    })
    const [pod] = await kubelet.untilPods(made, 1)
    const [injector] = pod!.spec.containers as readonly { readonly args: readonly string[]; readonly env?: object[] }[]
    expect(injector?.args.join(' ')).toContain('--metrics-sink datadog')
    expect(injector?.env).toContainEqual({ name: 'STATSD_URL', value: agent.url })
    await kubelet.ready(pod!)
    await shop().until('web', { injectionStatus: 'Injected' })
    await shop().finish(made, kubelet)
    await vi.waitFor(
      () => expect(reasonsOf(made)).toEqual(['ChaosPodCreated', 'Cleaned', 'Created', 'Finished']),
      PATIENT,
    )
    const [first] = told(made)
    expect(first?.headers).toMatchObject({ 'x-plain': 'plain', 'x-secret': SECRETS.header })
    expect(told(made).find(({ attributes }) => attributes['event_reason'] === 'Finished')?.attributes).toMatchObject({
      name: 'web',
      namespace: shop().cluster.namespace,
      cluster: 'test-cluster',
      targets_count: 1,
      notification_type: 'Completion',
      notification_title: "Disruption 'web' is over.",
      event_message: "Disruption 'web' emitted the event Finished: everything is undone",
    })
    await vi.waitFor(() => expect(posted('web-team')).toHaveLength(1), PATIENT)
    expect(posted('web-team')).toEqual(posted('web-team', 'Finished'))
    await vi.waitFor(() => expect(posted('C0MIRROR', '*Name:*\\nweb"')).toHaveLength(4), PATIENT)
    const [post] = receiver.received.filter(({ path }) => path === '/api/chat.postMessage')
    expect(post?.headers.authorization).toBe(`Bearer ${SECRETS.token}`)
    await vi.waitFor(() => {
      const finished = agent.received.find(({ line }) => line.includes("Disruption 'web' emitted the event Finished"))
      expect(finished?.line).toMatch(/^_e\{.*:Disruption 'web' is over\.\|.*\|t:info\|/)
      expect(finished?.tags).toEqual(['app:web', 'disruption_name:web'])
      const created = agent.of('chaos.controller.pods.created').filter((one) => one.tags.includes('disruptionName:web'))
      const tags = ['app:chaos-controller', 'disruptionName:web', `namespace:${shop().cluster.namespace}`]
      expect(created).toMatchObject([{ type: 'c', tags: [...tags, 'status:succeed'] }])
    }, PATIENT)
  })

  it('delay nothing and lose nothing silently while no receiver answers', async () => {
    receiver.answering = ({ path }, response) => {
      if (path.startsWith('/hook/')) response.writeHead(503).end('no')
      // Slack never responds.
    }
    const made = await disturbed('mute')
    const [pod] = await kubelet.untilPods(made, 1)
    await kubelet.ready(pod!)
    await shop().until('mute', { injectionStatus: 'Injected' })
    const failed = async () => {
      const events = await shop().events('Disruption', 'mute')
      const failed = events.filter(({ reason }) => reason === 'NotificationFailed').map(({ message }) => message)
      return failed.filter((message) => message.startsWith('notifier http') && !message.includes('NoTargetsFound'))
    }
    const why = (reason: string) =>
      `notifier http (http): the notification of ${reason} failed, and Pawl does not retry it: http at ${new URL(receiver.url).host} answers 503; expected 2xx`
    const all = ['ChaosPodCreated', 'Created']
    await vi.waitFor(async () => expect((await failed()).sort()).toEqual(all.map(why)), PATIENT)
    expect(reasonsOf(made)).toEqual(all)
    for (const reason of all)
      expect(told(made).filter(({ attributes }) => attributes['event_reason'] === reason)).toHaveLength(3)
    receiver.answering = (_, response) => response.end('{"ok":true}')
    await shop().finish(made, kubelet)
  })

  it('continue in the next worker after a kill', async () => {
    let isAway = true
    receiver.answering = (_, response) => {
      // The worker waits for a response when it is killed.
      if (!isAway) response.end('{"ok":true}')
    }
    const made = await disturbed('killed')
    const ofPod = () => told(made).filter(({ attributes }) => attributes['event_reason'] === 'ChaosPodCreated')
    await vi.waitFor(() => expect(ofPod()).toHaveLength(1), PATIENT)
    await chaos.tenants.pawl.kill('worker')
    isAway = false
    await chaos.tenants.pawl.startWorker()
    await vi.waitFor(() => expect(ofPod().length).toBeGreaterThanOrEqual(2), PATIENT)
    const keys = ofPod().map(({ headers }) => headers['idempotency-key'])
    expect(keys[1]).toBe(keys[0])
    await shop().finish(made, kubelet)
  })

  it('leave no secret in histories, the journal, or the log', async () => {
    const { client, db } = chaos.tenants.pawl
    const texts: string[] = []
    // Temporal lists a new workflow with a delay.
    await vi.waitFor(async () => {
      const found: string[] = []
      for await (const { workflowId } of client.workflow.list({ query: `WorkflowType = '${NOTIFICATION_RUN}'` })) {
        const history = await client.workflow.getHandle(workflowId).fetchHistory()
        found.push(Buffer.from(temporal.api.history.v1.History.encode(history).finish()).toString('latin1'))
      }
      expect(found.some((text) => text.includes('ChaosPodCreated') && text.includes('answers 503'))).toBe(true)
      texts.push(...found)
    }, PATIENT)
    const tables = await sql<{
      name: string
    }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(db)
    for (const { name } of tables.rows) {
      const rows = await sql<{
        text: string | null
      }>`select json_agg(t)::text as text from ${sql.table(name)} t`.execute(db)
      texts.push(rows.rows[0]?.text ?? '')
    }
    texts.push(chaos.tenants.pawl.log('worker'))
    for (const text of texts) for (const secret of Object.values(SECRETS)) expect(text).not.toContain(secret)
  })
})
