import { describe, expect, it } from 'vitest'

import { Metrics } from '../../../activities/run/metrics.ts'
import { RunMetrics } from '../../../activities/run/run-metrics.ts'
import { createProcessMetrics } from '../../../worker/server/process-metrics.ts'
import { BRIDGE_METRICS, ENGINE_METRICS, JOURNAL_METRICS, WORKER_METRICS } from '../../../workflows/kit/index.ts'

const RUN = 'shop/team-a/one/uid-1/job-1'
const WRITTEN = { result: 'ok', wrote: true, conflicted: false } as const

function counted() {
  const at = { ms: 0 }
  const now = () => new Date(at.ms)
  const metrics = new Metrics({ now, failed: (error) => expect(error).toBeUndefined() })
  metrics.declare(WORKER_METRICS)
  const runs = new RunMetrics(metrics, now)
  metrics.measure(() => Promise.resolve(runs.samples(new Map([['shop', 10]]))))
  return { at, metrics, runs }
}

async function linesOf(metrics: Metrics): Promise<readonly string[]> {
  const lines = (await metrics.text()).split('\n')
  return lines.filter((line) => line !== '' && !line.startsWith('#') && !line.includes('_bucket{'))
}

describe('the metrics of a run', () => {
  it('are its latencies, its pass, its writes, its phases and its outcome', async () => {
    const { at, metrics, runs } = counted()
    runs.runStarting(RUN, { due: new Date(0), seq: 7 })
    at.ms = 200
    runs.passStarted(RUN)
    at.ms = 300
    runs.wrote(RUN, 'patchStatus', WRITTEN)
    runs.wrote(RUN, 'create', WRITTEN)
    runs.phaseWritten(RUN, 'Init')
    expect(await linesOf(metrics)).toContain('controller_runtime_active_workers{controller="shop"} 1')
    at.ms = 1300
    runs.phaseWritten(RUN, 'Succeeded')
    runs.passEnded(RUN, { againMs: undefined, attempt: 0 })
    runs.jobEnded('shop', 'Succeeded')
    runs.runEnded(RUN)
    at.ms = 20_000
    expect(await linesOf(metrics)).toEqual([
      'pawl_jobs_total{controller="shop",outcome="Succeeded"} 1',
      'pawl_phase_duration_seconds_sum{controller="shop",phase="Init"} 1',
      'pawl_phase_duration_seconds_count{controller="shop",phase="Init"} 1',
      'pawl_wake_to_start_seconds_sum{controller="shop"} 0.2',
      'pawl_wake_to_start_seconds_count{controller="shop"} 1',
      'pawl_event_to_first_write_seconds_sum{controller="shop"} 0.3',
      'pawl_event_to_first_write_seconds_count{controller="shop"} 1',
      'pawl_writes_total{controller="shop",verb="patchStatus",result="ok"} 1',
      'pawl_writes_total{controller="shop",verb="create",result="ok"} 1',
      'controller_runtime_reconcile_total{controller="shop",result="success"} 1',
      'controller_runtime_reconcile_time_seconds_sum{controller="shop"} 1.1',
      'controller_runtime_reconcile_time_seconds_count{controller="shop"} 1',
      'controller_runtime_active_workers{controller="shop"} 0',
      'controller_runtime_max_concurrent_reconciles{controller="shop"} 10',
      'workqueue_work_duration_seconds_sum{name="shop",controller="shop"} 1.1',
      'workqueue_work_duration_seconds_count{name="shop",controller="shop"} 1',
    ])
  })

  it('name the results of passes like controller-runtime', async () => {
    const { metrics, runs } = counted()
    runs.passEnded(RUN, { againMs: 0, attempt: 0 })
    runs.passEnded(RUN, { againMs: 5, attempt: 0 })
    runs.passEnded(RUN, { againMs: 5, attempt: 2 })
    expect((await linesOf(metrics)).filter((line) => !line.includes('workers') && !line.includes('max_'))).toEqual([
      'controller_runtime_reconcile_total{controller="shop",result="requeue"} 1',
      'controller_runtime_reconcile_total{controller="shop",result="requeue_after"} 1',
      'controller_runtime_reconcile_total{controller="shop",result="error"} 1',
      'controller_runtime_reconcile_errors_total{controller="shop"} 1',
      'workqueue_retries_total{name="shop",controller="shop"} 1',
    ])
  })

  it('count both latencies once, also when the run writes before its first pass', async () => {
    const { at, metrics, runs } = counted()
    runs.runStarting(RUN, { due: new Date(0), seq: 7 })
    for (const ms of [100, 400]) {
      at.ms = ms
      runs.wrote(RUN, 'patchStatus', WRITTEN)
      at.ms = ms + 100
      runs.passStarted(RUN)
    }
    const latencies = (await linesOf(metrics)).filter((line) => /_to_(?:start|first_write)_/.test(line))
    expect(latencies).toEqual([
      'pawl_wake_to_start_seconds_sum{controller="shop"} 0.2',
      'pawl_wake_to_start_seconds_count{controller="shop"} 1',
      'pawl_event_to_first_write_seconds_sum{controller="shop"} 0.1',
      'pawl_event_to_first_write_seconds_count{controller="shop"} 1',
    ])
  })

  it('do not count an event for a run that its own due time started', async () => {
    const { metrics, runs } = counted()
    runs.runStarting(RUN, { due: new Date(0), seq: 0 })
    runs.wrote(RUN, 'create', WRITTEN)
    expect((await linesOf(metrics)).join()).not.toContain('pawl_event_to_first_write')
  })
})

describe('the number of series', () => {
  it('does not grow with 10,000 objects of a hostile tenant', async () => {
    const { metrics, runs } = counted()
    const course = (name: string, phase: string) => {
      const run = `shop/tenant-${name}/${name}/uid-${name}/job-${name}`
      runs.wakeClaimed({ controller: 'shop', due: new Date(0) })
      runs.runStarting(run, { due: new Date(0), seq: 1 })
      runs.passStarted(run)
      runs.wrote(run, 'create', WRITTEN)
      runs.phaseWritten(run, 'Init')
      runs.phaseWritten(run, 'Succeeded')
      runs.passEnded(run, { againMs: undefined, attempt: 0 })
      runs.jobEnded('shop', phase)
    }
    course('first', 'Succeeded')
    const before = (await linesOf(metrics)).length
    for (let index = 0; index < 10_000; index++) course(`x${index}`, 'Succeeded')
    expect(await linesOf(metrics)).toHaveLength(before)
    // Also if code let a tenant choose the outcome.
    for (let index = 0; index < 10_000; index++) course(`y${index}`, `outcome-${index}`)
    expect((await linesOf(metrics)).length).toBeLessThan(before + 60)
  })

  it('is bounded for HTTP status codes that a server invents', async () => {
    const readiness = { field: 'troubles', failures: () => ({}) }
    const log = { warn: (...words: unknown[]) => expect(words).toEqual([]) }
    const { metrics, onAnswer } = createProcessMetrics({ log, readiness }, [JOURNAL_METRICS])
    const answer = { method: 'GET', host: 'api:6443', seconds: 0.1 } as const
    for (let status = 0; status < 10_000; status++) onAnswer({ ...answer, status })
    onAnswer({ ...answer, status: undefined })
    const lines = (await linesOf(metrics)).filter((line) => line.startsWith('rest_client_requests_total'))
    expect(lines).toHaveLength(502)
    expect(lines).toContain('rest_client_requests_total{code="other",method="GET",host="api:6443"} 9500')
    expect(lines).toContain('rest_client_requests_total{code="<error>",method="GET",host="api:6443"} 1')
    expect(await linesOf(metrics)).toContain('pawl_ready 1')
  })
})

describe('the declarations of the engine', () => {
  const declared = ENGINE_METRICS.flatMap(({ metrics }) => Object.entries(metrics))

  it("follow Prometheus' naming conventions", () => {
    for (const [name, { type }] of declared) {
      expect(name).toMatch(/^(?:pawl|controller_runtime|workqueue|rest_client)_[a-z_]+$/)
      expect(name.endsWith('_total'), name).toBe(type === 'counter')
      if (type === 'histogram') expect(name).toMatch(/_seconds$/)
    }
  })

  it('have no label for the name or the namespace of an object', () => {
    const labels = new Set(declared.flatMap(([, { labels: names = [] }]) => names))
    // `name` is the name of a queue, which is the name of its controller.
    const allowed = ['controller', 'outcome', 'phase', 'verb', 'result', 'operation', 'name', 'kind', 'code', 'method']
    expect([...labels].filter((label) => ![...allowed, 'host'].includes(label))).toEqual([])
    expect(BRIDGE_METRICS.pawl_relists_total.labels).toEqual(['kind'])
  })
})
