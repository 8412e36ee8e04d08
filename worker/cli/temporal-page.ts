// The page of a run in Temporal's UI: where a person goes on from what the journal says.

import { readConfig } from '../server/config.ts'
import { UsageError } from '../server/usage-error.ts'
import { type DevFlags, findDev } from './dev-folder.ts'

export interface PageFlags extends DevFlags {
  readonly temporalUi?: string
}

export const UI_OPTION = [
  '--temporal-ui <url>',
  "Temporal's UI, whose page of the run is told (default: $PAWL_TEMPORAL_UI, else that of pawl dev)",
] as const

export interface RunOfPage {
  readonly workflowID: string
  /** Null: it has not been started yet. */
  readonly runID: string | null
}

/** @returns undefined where nobody said where the UI is, or there is no run. @throws UsageError for what is no http address. */
export async function runPage(flags: PageFlags, run: RunOfPage | undefined): Promise<string | undefined> {
  if (run?.runID == null) return undefined
  const config = readConfig()
  const { temporalUi, temporalNamespace } = config
  const base = flags.temporalUi ?? temporalUi ?? (await findDev(flags, config))?.temporalUi
  return base == null ? undefined : pageAt(base, temporalNamespace, { workflowID: run.workflowID, runID: run.runID })
}

/** @throws UsageError */
export function pageAt(
  base: string,
  namespace: string,
  { workflowID, runID }: { workflowID: string; runID: string },
): string {
  const url = URL.parse(base)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`--temporal-ui has '${base}', expected an address such as http://127.0.0.1:8233`)
  const segments = ['namespaces', namespace, 'workflows', workflowID, runID, 'history'].map(encodeURIComponent)
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/${segments.join('/')}`
}
