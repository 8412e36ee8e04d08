import { describe, expect, it } from 'vitest'

import { Metrics, type Sample } from '../../../activities/run/metrics.ts'

const TABLE = {
  starts: { type: 'counter', help: 'Starts.' },
  made: { type: 'counter', help: 'Made.', labels: ['namespace', 'status'] },
  there: { type: 'gauge', help: 'There.', labels: ['name'] },
  took: { type: 'histogram', help: 'Took.' },
} as const

function metrics(at = { ms: 0 }, failures: unknown[] = []) {
  const made = new Metrics({ now: () => new Date(at.ms), failed: (error) => failures.push(error) })
  made.declare(TABLE)
  return made
}

describe('the metrics of a process', () => {
  it("are printed in Prometheus' format", async () => {
    const counted = metrics()
    counted.count('made', { namespace: 'a "b"\\\n', status: 'succeed' })
    counted.count('made', { namespace: 'a "b"\\\n', status: 'succeed' }, 2)
    counted.observe('took', 0.2)
    counted.observe('took', 9000)
    counted.measure(() => Promise.resolve([{ name: 'there', labels: { name: 'x' }, value: 3 }]))
    expect((await counted.text()).split('\n').filter((line) => line !== '')).toEqual([
      ...['# HELP starts Starts.', '# TYPE starts counter', 'starts 0'],
      ...['# HELP made Made.', '# TYPE made counter', 'made{namespace="a \\"b\\"\\\\\\n",status="succeed"} 3'],
      ...['# HELP there There.', '# TYPE there gauge', 'there{name="x"} 3'],
      ...['# HELP took Took.', '# TYPE took histogram'],
      ...['0.01', '0.05', '0.1'].map((le) => `took_bucket{le="${le}"} 0`),
      ...['0.5', '1', '5', '10', '30', '60', '300', '1800', '7200'].map((le) => `took_bucket{le="${le}"} 1`),
      ...['took_bucket{le="+Inf"} 2', 'took_sum 9000.2', 'took_count 2'],
    ])
  })

  it('leave out a gauge without labels while its value is unknown', async () => {
    const counted = new Metrics({ now: () => new Date(0), failed: () => undefined })
    counted.declare({ size: { type: 'gauge', help: 'Size.' } })
    expect(await counted.text()).toBe('# HELP size Size.\n# TYPE size gauge\n')
    const again = new Metrics({ now: () => new Date(0), failed: () => undefined })
    again.declare({ size: { type: 'gauge', help: 'Size.' } })
    again.measure(() => Promise.resolve([{ name: 'size', value: 1 }]))
    expect(await again.text()).toContain('size 1\n')
  })

  it('have the declared buckets', async () => {
    const counted = metrics()
    counted.declare({ writes: { type: 'histogram', help: 'Writes.', buckets: [1, 5] } })
    counted.observe('writes', 3)
    expect(await counted.text()).toContain(
      'writes_bucket{le="1"} 0\nwrites_bucket{le="5"} 1\nwrites_bucket{le="+Inf"} 1\n',
    )
  })

  it('are measured at most every ten seconds, and unknown values are left out', async () => {
    const [at, failures]: [{ ms: number }, unknown[]] = [{ ms: 0 }, []]
    const counted = metrics(at, failures)
    let asked = 0
    counted.measure(() => Promise.resolve([{ name: 'there', labels: { name: 'x' }, value: ++asked }]))
    counted.measure(() => Promise.reject(new Error('away')))
    expect(await counted.text()).toContain('there{name="x"} 1')
    at.ms = 9_999
    expect(await counted.text()).toContain('there{name="x"} 1')
    at.ms = 10_000
    expect(await counted.text()).toContain('there{name="x"} 2')
    expect(failures.map(String)).toEqual(['Error: away', 'Error: away'])
  })

  it('are never measured twice at the same time', async () => {
    const at = { ms: 0 }
    const counted = metrics(at, [])
    const tell: ((samples: readonly Sample[]) => void)[] = []
    const told = new Promise<readonly Sample[]>((resolve) => tell.push(resolve))
    let asked = 0
    counted.measure(() => {
      asked++
      return told
    })
    const first = counted.text()
    at.ms = 60_000
    const second = counted.text()
    tell[0]?.([{ name: 'there', labels: { name: 'x' }, value: 7 }])
    expect(await first).toContain('there{name="x"} 7')
    expect(await second).toContain('there{name="x"} 7')
    expect(asked).toBe(1)
  })

  it('are passed to listeners on change, with details that are not labels', async () => {
    const [counted, told]: [Metrics, unknown[]] = [metrics(), []]
    counted.count('starts')
    counted.addObserver({
      counted: (name, labels, by) => told.push([name, labels, by]),
      observed: (name, labels, seconds) => told.push([name, labels, seconds]),
    })
    counted.count('starts', {}, 0)
    counted.count('made', { namespace: 'a', status: 'failed' }, 2, { name: 'x' })
    counted.observe('took', 0.5, {}, { name: 'y' })
    expect(() => counted.count('other')).toThrow('metric other')
    expect(told).toEqual([
      ['made', { namespace: 'a', status: 'failed', name: 'x' }, 2],
      ['took', { name: 'y' }, 0.5],
    ])
    expect(await counted.text()).toContain('made{namespace="a",status="failed"} 2\n')
  })

  it('contain only declared metrics', () => {
    expect(() => metrics().count('other')).toThrow('metric other: found a counter')
    expect(() => metrics().count('made', { namespace: 'x' })).toThrow(
      'expected the declaration: counter with namespace, status',
    )
    expect(() => metrics().count('took')).toThrow('metric took')
    expect(() => metrics().declare(TABLE)).toThrow(
      'metric starts: the name is invalid or used twice; expected a unique name',
    )
  })
})
