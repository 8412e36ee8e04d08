// The queries in deploy/monitoring.

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

const MONITORING = new URL('../../../deploy/monitoring/', import.meta.url)

export interface MonitoringQuery {
  /** The alert or the panel. */
  readonly from: string
  readonly query: string
  readonly isAlert: boolean
}

export interface Alert {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly description: string }
}

export function alerts(): readonly Alert[] {
  const { groups } = parse(readFileSync(new URL('alerts.yaml', MONITORING), 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly Alert[] }[]
  }
  return groups.flatMap(({ rules }) => rules)
}

export function monitoringQueries(): readonly MonitoringQuery[] {
  const { panels } = JSON.parse(readFileSync(new URL('dashboard.json', MONITORING), 'utf8')) as {
    readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[]
  }
  return [
    ...alerts().map(({ alert, expr }) => ({ from: alert, query: expr, isAlert: true })),
    ...panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ from: title, query: expr, isAlert: false })),
    ),
  ]
}
