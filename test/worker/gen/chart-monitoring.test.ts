import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { chartValues } from '../../../worker/cli/install/chart-values.ts'
import { renderChart } from '../../../worker/cli/install/render-chart.ts'
import { monitoringTemplate } from '../../../worker/gen/chart-monitoring.ts'

const [dashboard, rules] = ['dashboard.json', 'alerts.yaml'].map((name) =>
  readFileSync(new URL(`../../../deploy/monitoring/${name}`, import.meta.url), 'utf8'),
) as [string, string]

async function monitoring(...sets: string[]) {
  const objects = await renderChart({ name: 'pawl', namespace: 'a' }, await chartValues({ files: [], sets }))
  return objects.filter(({ kind }) => kind === 'ConfigMap' || kind === 'PrometheusRule')
}

describe('the monitoring of the chart', () => {
  it('is off by default', async () => {
    expect(await monitoring()).toEqual([])
  })

  it('has the dashboard of deploy/monitoring with the label of the sidecar', async () => {
    expect(await monitoring('monitoring.dashboards.enabled=true')).toMatchObject([
      { metadata: { namespace: 'a', labels: { grafana_dashboard: '1' } }, data: { 'pawl.json': dashboard } },
    ])
  })

  it('has the alert rules of deploy/monitoring, with the size of the journal', async () => {
    const set = 'monitoring.rules.enabled=true,monitoring.rules.journalGiB=7,monitoring.rules.labels.release=x'
    const expected = parse(rules.replace('20 * 1024', '7 * 1024')) as object
    expect(await monitoring(set)).toMatchObject([{ metadata: { labels: { release: 'x' } }, spec: expected }])
    expect(expected).not.toEqual(parse(rules))
  })

  it('is not generated from rules without the size of the journal', () => {
    const generate = () => monitoringTemplate('{}', 'groups: []')
    expect(generate).toThrow('deploy/monitoring/alerts.yaml: found "20 * 1024 * 1024 * 1024" 0 times; expected it once')
  })
})
