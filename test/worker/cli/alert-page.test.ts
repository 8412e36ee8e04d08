import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

import { ALERT_PAGE, alertPage } from '../../../worker/cli/alert-page.ts'
import { alerts } from '../../support/pawl/monitoring.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** A checkout with the present alerts, changed by `edit`. */
async function checkout(edit: (alert: object) => object): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'pawl-alerts-'))
  await mkdir(join(root, 'deploy/monitoring'), { recursive: true })
  const rules = { groups: [{ name: 'pawl', rules: alerts().map(edit) }] }
  await writeFile(join(root, 'deploy/monitoring/alerts.yaml'), JSON.stringify(rules))
  return root
}

describe('the page of alerts', () => {
  it('has a section for each alert, in the order of the rules, with its description', async () => {
    const page = (await alertPage(ROOT)).get(ALERT_PAGE) ?? ''
    expect([...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name)).toEqual(alerts().map(({ alert }) => alert))
    expect(page).toContain('Severity `warning`, after 5m: A wake of controller `<controller>` has waited `<value>`')
    expect(page).toContain('First run `pawl why <kind>/<name>`, which names them.')
  })

  it('is refused if an alert has no description', async () => {
    const root = await checkout((alert) => ({ ...alert, annotations: { summary: 'Too late' } }))
    await expect(alertPage(root)).rejects.toThrow(
      'alert "PawlAbsent": annotations.description is missing; say what it means and what to do first',
    )
  })

  it('is refused if it has a link for an alert that does not exist', async () => {
    const root = await checkout((alert) => ({ ...alert, alert: 'Other' }))
    await expect(alertPage(root)).rejects.toThrow('found a link of PawlAbsent')
  })
})
