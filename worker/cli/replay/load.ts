// Loads the job to replay from Temporal and the journal or from an exported file, and the workflows to replay it with.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { DefaultLogger } from '@temporalio/worker'

import { buildOf } from '../../reconciler/temporal/bundle.ts'
import { readConfig } from '../../server/config.ts'
import { controllerFiles, loadControllers } from '../../server/load-controllers.ts'
import type { TemporalTarget } from '../../server/temporal.ts'
import { UsageError } from '../../server/usage-error.ts'
import { withJournal, type JournalFlags } from '../query/open-journal.ts'
import { TEMPORAL_HINT } from '../temporal-address.ts'
import { exportedJob, findNamedJob } from '../exported-job.ts'
import { jobRows, type JobRows } from './job-rows.ts'
import type { HistoryEvent } from './history-events.ts'

export const NO_TEMPORAL = `no Temporal: the address is unknown; ${TEMPORAL_HINT}, or --file with the output of pawl journal export`

/** A run with its history as JSON: bytes in base64, 64-bit numbers as texts. */
export interface RecordedRun {
  readonly workflowId: string
  readonly events: readonly HistoryEvent[]
}

export interface LoadedJob extends RecordedRun {
  /** Empty in level mode, and in a file that is not an export. */
  readonly jobID: string
  /** The previous runs of the job (continue-as-new), the earliest first. */
  readonly earlier: readonly RecordedRun[]
  /** The journal's rows; undefined if no rows exist. */
  readonly rows: JobRows | undefined
}

/** @throws an Error that names the searched place. */
export async function fetchJob(
  words: readonly string[],
  flags: JournalFlags & { readonly run?: string },
  target: TemporalTarget | undefined,
): Promise<LoadedJob> {
  if (target === undefined) throw new UsageError(NO_TEMPORAL)
  const exported = await withJournal(
    flags,
    async (journal) => await exportedJob(journal, await findNamedJob(journal, words), target, flags.run),
  )
  return loadedJob(exported, `Temporal at ${target.address}`)
}

/**
 * Reads a file of `pawl journal export`, or another file with `workflowId` and `history`. @throws UsageError with the
 * file and the problem.
 */
export async function readJob(file: string): Promise<LoadedJob> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const found = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new UsageError(`--file: "${file}" cannot be read (${found}); check its path and permissions`)
  })
  return loadedJob(parseJson(text, file), `--file "${file}"`)
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`--file: "${file}" is no JSON; expected a file of pawl journal export`)
  }
}

/** @param where the source for messages. */
function loadedJob(given: unknown, where: string): LoadedJob {
  const { workflowId, jobID, history, earlier = [], journal } = (given ?? {}) as Readonly<Record<string, unknown>>
  if (typeof workflowId !== 'string')
    throw new UsageError(`${where}: workflowId is missing; expected a file of pawl journal export`)
  const { events } = (history ?? {}) as { readonly events?: unknown }
  if (!Array.isArray(events) || events.length === 0)
    throw new Error(
      `${where}: no history of workflow "${workflowId}"; use --file with a file that pawl journal export wrote before Temporal deleted the history`,
    )
  return {
    workflowId,
    jobID: typeof jobID === 'string' ? jobID : '',
    events: events as readonly HistoryEvent[],
    earlier: (earlier as readonly Pick<RecordedRun, 'events'>[]).map((run) => ({ workflowId, events: run.events })),
    rows: journal === undefined || journal === null ? undefined : jobRows(journal),
  }
}

export interface CodeFlags {
  readonly controllers?: string
  readonly workflowBundle?: string
}

/** Bundles this build's workflows with the user's controllers, or reads a bundle. */
export async function codeOf({ controllers, workflowBundle }: CodeFlags): Promise<string> {
  const files = controllerFiles(controllers)
  const names = (await loadControllers(files)).map(({ name }) => name)
  const source = {
    workflowBundle,
    controllerFiles: files,
    payloadKeyPath: undefined,
    bundleCacheDir: bundleCacheFolder(),
  }
  const { code } = await buildOf(source, names, new DefaultLogger('ERROR'))
  return code
}

/** The folder where commands cache bundles. */
export function bundleCacheFolder(): string {
  const { bundleCacheDir, cacheDir } = readConfig()
  return bundleCacheDir ?? join(cacheDir, 'bundles')
}
