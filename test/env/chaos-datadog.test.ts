// The datagrams to a Datadog agent, received by a UDP socket: metrics of a worker, events, and counters of an injector
// process. Source: spec/chaos.md 2.15.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'

import { DatadogClient } from '../../activities/chaos/datadog-client.ts'
import { metricsObserver } from '../../activities/chaos/metrics/observer.ts'
import { openSink } from '../../activities/chaos/metrics/sink.ts'
import { Metrics, type Sample } from '../../activities/run/metrics.ts'
import { CHAOS_METRICS } from '../../workflows/chaos/metrics.ts'
import { statsdAddress } from '../../workflows/chaos/statsd-address.ts'
import { childEnvironment, modulePath } from '../../worker/server/config.ts'
import { Datagrams } from '../support/chaos/datagrams.ts'

/** An address to which sending fails at once, without a DNS query. */
const FORBIDDEN = '255.255.255.255:8125'
const PATIENT = { timeout: 30_000, interval: 20 }
let agent: Datagrams
beforeEach(async () => {
  agent = await Datagrams.open()
})
afterEach(async () => await agent.close())

function clientTo(url: string, isGrouped = true) {
  const lost: unknown[] = []
  const address = statsdAddress(url)
  if (address === undefined) throw new Error(`${url} is no address`)
  const client = new DatadogClient({ address, app: 'chaos-controller', isGrouped, lost: (error) => lost.push(error) })
  return { client, lost }
}

function metricsOf(samples: readonly Sample[] = []): Metrics {
  const metrics = new Metrics({ now: () => new Date(100_000), failed: (error) => expect(error).toBeUndefined() })
  metrics.declare(CHAOS_METRICS)
  metrics.measure(() => Promise.resolve(samples))
  return metrics
}

const told = (name: string) => agent.of(name).map(({ value, type, tags }) => ({ value, type, tags }))

describe('metrics of a worker', () => {
  it("are sent with chaos-controller's names, types and tags when they are counted", async () => {
    const { client, lost } = clientTo(agent.url)
    const metrics = metricsOf()
    const close = openSink({ client, metrics })
    const heard = metricsObserver({ metrics, now: () => new Date(100_000), defaultDurationMs: 60_000 })
    metrics.count('chaos_controller_restart')
    const about = { namespace: 'shop', name: 'slow' }
    heard.eventRecorded?.({ controller: 'disruption', reason: 'ChaosPodCreated', ...about })
    const metadata = { ...about, uid: 'u', creationTimestamp: new Date(40_000).toISOString() }
    const after = { apiVersion: 'v1', kind: 'Disruption', metadata, status: { cleanedAt: 'now' }, spec: { dns: {} } }
    heard.statusWritten?.({ controller: 'disruption', before: {}, after })
    const cron = { ...after, status: { pausedSince: 'now' } }
    heard.statusWritten?.({ controller: 'disruptionCron', before: {}, after: cron })
    await close()
    await vi.waitFor(() => expect(told('chaos.cron.controller.schedule.paused')).toHaveLength(1), PATIENT)
    const app = 'app:chaos-controller'
    expect(told('chaos.controller.restart')).toEqual([{ value: '1', type: 'c', tags: [app] }])
    expect(told('chaos.controller.pods.created')).toEqual([
      { value: '1', type: 'c', tags: [app, 'disruptionName:slow', 'namespace:shop', 'status:succeed'] },
    ])
    expect(told('chaos.controller.disruption.completed_duration')).toEqual([
      { value: '60000', type: 'ms', tags: [app, 'disruptionName:slow', 'namespace:shop'] },
    ])
    expect(told('chaos.controller.disruptions.count')).toEqual([
      { value: '1', type: 'c', tags: [app, 'disruptionName:slow', 'disruption_kind:dns-disruption', 'namespace:shop'] },
    ])
    expect(told('chaos.cron.controller.schedule.paused')).toEqual([
      { value: '1', type: 'c', tags: [app, 'disruptionCronName:slow', 'namespace:shop'] },
    ])
    expect(lost).toEqual([])
    // Scrapes return the same values, without the names of objects.
    expect(await metrics.text()).toContain('chaos_controller_pods_created{namespace="shop",status="succeed"} 1\n')
  })

  it('are sent periodically if they are gauges, durations as timings', async () => {
    const { client } = clientTo(agent.url)
    const labels = { namespace: 'shop', name: 'slow' }
    const metrics = metricsOf([
      { name: 'chaos_controller_pods_gauge', value: 7 },
      { name: 'chaos_controller_disruption_ongoing_duration', labels, value: 90 },
    ])
    const close = openSink({ client, metrics, gaugesEveryMs: 10 })
    await vi.waitFor(() => expect(agent.of('chaos.controller.pods.gauge').length).toBeGreaterThan(1), PATIENT)
    await close()
    expect(told('chaos.controller.pods.gauge')[0]).toEqual({ value: '7', type: 'g', tags: ['app:chaos-controller'] })
    expect(told('chaos.controller.disruption.ongoing_duration')[0]).toEqual({
      value: '90000',
      type: 'ms',
      tags: ['app:chaos-controller', 'disruptionName:slow', 'namespace:shop'],
    })
  })

  it('fail and delay nothing when no agent receives them, and a failure is logged once', async () => {
    const silent = await Datagrams.open()
    const url = silent.url
    await silent.close()
    for (const [where, said] of [
      [url, 0],
      [FORBIDDEN, 1],
    ] as const) {
      const { client, lost } = clientTo(where)
      const metrics = metricsOf()
      const close = openSink({ client, metrics })
      for (let times = 0; times < 1000; times += 1) metrics.count('chaos_controller_reconcile')
      await close()
      expect(await metrics.text()).toContain('chaos_controller_reconcile 1000\n')
      expect(lost).toHaveLength(said)
    }
  })
})

describe('a Datadog event', () => {
  it('is sent completely, in ASCII letters', async () => {
    const { client } = clientTo(agent.url, false)
    const tags = { disruption_name: 'slow' }
    await client.event({ title: 'zu früh', text: 'one\ntwo → drei|vier', alertType: 'warning', tags })
    await vi.waitFor(() => expect(agent.received).toHaveLength(1), PATIENT)
    const [{ line } = { line: '' }] = agent.received
    const text = 'one\\ntwo ? drei|vier'
    expect(line.startsWith(`_e{7,${text.length}}:zu fruh|${text}|t:warning|#`)).toBe(true)
    expect(line).toContain('app:chaos-controller,disruption_name:slow')
    await client.close(1000)
  })

  it('reports that it cannot be sent', async () => {
    const { client } = clientTo(FORBIDDEN, false)
    const event = { title: 'a', text: 'b', alertType: 'info', tags: {} } as const
    await expect(client.event(event)).rejects.toMatchObject({ code: 'EACCES' })
    await client.close(1000)
  })
})

describe('the process of an injector', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pawl-injector-datadog-'))
  })
  afterAll(async () => await rm(folder, { recursive: true, force: true }))

  /** @param until ends the injector; without it, the injector ends before it has injected. */
  async function live(
    sink: readonly string[],
    env: Readonly<Record<string, string>>,
    until?: () => Promise<void>,
  ): Promise<string> {
    const args = ['cpu-pressure', '--level', 'pod', '--target-containers', 'app;process://1', '--dry-run', ...sink]
    const deadline = until === undefined ? ['--deadline', '2020-01-01T00:00:00Z'] : []
    const child = spawn(process.execPath, [modulePath('pawl.js'), 'injector', ...args, ...deadline], {
      env: childEnvironment({
        CHAOS_INJECTOR_READINESS_FILE: join(folder, 'ready'),
        CHAOS_INJECTOR_STATE: join(folder, 'state'),
        LOG_LEVEL: 'debug',
        STATSD_URL: undefined,
        DD_AGENT_HOST: undefined,
        ...env,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += String(part)))
    const ended = once(child, 'close') as Promise<[number]>
    try {
      await until?.()
    } finally {
      if (until !== undefined) child.kill('SIGTERM')
    }
    const [code] = await ended
    expect(code, output).toBe(0)
    return output
  }

  it('has sent its metrics when it ends', async () => {
    const tags = ['app:chaos-injector', 'kind:cpu-pressure', 'status:succeed']
    await live(['--metrics-sink', 'datadog'], { STATSD_URL: agent.url }, async () => {
      const injected = () => expect(told('chaos.injector.injected')).toEqual([{ value: '1', type: 'c', tags }])
      await vi.waitFor(injected, PATIENT)
    })
    await vi.waitFor(() => expect(told('chaos.injector.cleaned')).toEqual([{ value: '1', type: 'c', tags }]), PATIENT)
  })

  it("continues when the agent's address is unknown or unreachable", async () => {
    expect(await live(['--metrics-sink', 'datadog'], {})).toContain('found neither STATSD_URL nor DD_AGENT_HOST')
    expect(await live(['--metrics-sink', 'datadog'], { STATSD_URL: FORBIDDEN })).toContain(
      'metrics cannot be sent; this is logged once',
    )
    expect(await live([], { STATSD_URL: agent.url })).toContain('cleaned')
    expect(agent.received).toEqual([])
  })
})
