// Alert rules and dashboard (deploy/monitoring) against the declarations of metrics. With a real
// Prometheus: test/e2e/installed-chart.test.ts.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { Metrics } from '../../activities/run/metrics.ts'
import { ENGINE_METRICS } from '../../workflows/kit/index.ts'
import { WINGS } from '../../workflows/wings.gen.ts'
import { alerts, monitoringQueries } from '../support/pawl/monitoring.ts'
import { HAS_PROMETHEUS } from '../support/pawl/prometheus.ts'
import { selectorsOf } from '../support/pawl/promql.ts'

async function declaredNames(): Promise<ReadonlySet<string>> {
  const metrics = new Metrics({ now: () => new Date(0), failed: (error) => expect(error).toBeUndefined() })
  metrics.declareProcess()
  const ofNode = [...(await metrics.text()).matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
  const tables = [
    ...ENGINE_METRICS.map((one) => one.metrics),
    ...Object.values(WINGS).map((wing) => wing.metrics ?? {}),
  ]
  const declared = tables.flatMap((table) =>
    Object.entries(table).flatMap(([name, { type }]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => `${name}${end}`) : [name],
    ),
  )
  return new Set([...ofNode, ...declared])
}

describe('alert rules and dashboard', () => {
  it('use only declared metrics', async () => {
    const declared = await declaredNames()
    const used = monitoringQueries().flatMap(({ from, query }) =>
      selectorsOf(query).map(({ metric }) => ({ from, metric })),
    )
    expect(used.length).toBeGreaterThan(40)
    expect(used.filter(({ metric }) => !declared.has(metric))).toEqual([])
  })

  it('have a test for each alert, which expects its description', () => {
    const { tests } = parse(
      readFileSync(new URL('../../deploy/monitoring/alerts.test.yaml', import.meta.url), 'utf8'),
    ) as {
      readonly tests: readonly { readonly alert_rule_test: readonly AlertTest[] }[]
    }
    const expected = tests.flatMap(({ alert_rule_test }) =>
      alert_rule_test.flatMap(({ alertname, exp_alerts }) =>
        exp_alerts.map(({ exp_annotations: { description } }) => [alertname, description]),
      ),
    )
    expect(expected).toEqual(alerts().map(({ alert, annotations }) => [alert, annotations.description]))
  })
})

interface AlertTest {
  readonly alertname: string
  readonly exp_alerts: readonly { readonly exp_annotations: { readonly description: string } }[]
}

describe('alerts.test.yaml', () => {
  it.skipIf(!HAS_PROMETHEUS)('passes promtool test rules', () => {
    const cwd = fileURLToPath(new URL('../../deploy/monitoring', import.meta.url))
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'alerts.test.yaml'], {
      cwd,
      encoding: 'utf8',
    })
    expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' })
  })
})

describe('the selectors of a query', () => {
  it('are its metrics with their matchers', () => {
    const query =
      'sum by (le, kind) (rate(a_total{code=~"5..", x!="1"}[5m])) > 0.5 * max(b_seconds) and label_replace(c, "d", "e", "", "") offset 5m'
    expect(selectorsOf(query)).toEqual([
      { metric: 'a_total', text: 'a_total{code=~"5..", x!="1"}' },
      { metric: 'b_seconds', text: 'b_seconds' },
      { metric: 'c', text: 'c' },
    ])
  })
})
