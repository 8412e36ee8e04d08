// The command `pawl plan -f`: reads manifests, previews their effect by dry runs against the cluster, and prints it.
// If the journal (Pawl's PostgreSQL tables) is reachable, the plan has the expected duration of each job.

import { type Journal, openReader } from '../../../activities/journal/read/reader.ts'
import { readYaml } from '../../../activities/yaml/read-yaml.ts'
import { writeYaml } from '../../../activities/yaml/write-yaml.ts'
import { type DryRunJob, writeJson } from '../../../workflows/kit/index.ts'
import { readConfig } from '../../server/config.ts'
import { type JournalFlags, failureText, journalURL } from '../query/open-journal.ts'
import { ansiPaint, plainPaint, isGood } from '../query/format.ts'
import { namespaceOf } from '../kubeconfig.ts'
import { openUserClient } from '../user.ts'
import { secretTexts } from './object-changes.ts'
import { readDocuments } from './documents.ts'
import { previewDocuments } from './preview.ts'
import { createPlan, exitCodeOf, objectKey } from './create-plan.ts'
import { planText } from './plan-text.ts'
import { jobsOf, objectsNamed } from '../../../activities/journal/read/object-queries.ts'

export interface PlanFilesFlags extends JournalFlags {
  readonly filename: readonly string[]
  readonly output: 'text' | 'wide' | 'json' | 'yaml'
  /** As the worker's `--target-allow`: the preview applies the limits of the worker. */
  readonly targetAllow?: string
  /** As the worker's `--registry-local`. */
  readonly registryLocal?: string
}

export async function planFiles(flags: PlanFilesFlags): Promise<void> {
  const config = readConfig()
  const documents = await readDocuments(flags.filename)
  const namespace = await namespaceOf(flags, config)
  const kube = await openUserClient(flags, config)
  try {
    const { targetAllow, registryLocal } = flags
    const given = {
      ...(targetAllow !== undefined && { 'target-allow': targetAllow }),
      ...(registryLocal !== undefined && { 'registry-local': registryLocal }),
    }
    const preview = await previewDocuments(kube, documents, { namespace, given })
    const expected = await durationsOf(flags, preview.jobs)
    const plan = createPlan(preview, secretTexts(preview.secrets, parsed), expected ?? new Map())
    const paint = process.stdout.isTTY && process.stdout.hasColors() ? ansiPaint : plainPaint
    const options = { paint, hasJournal: expected !== undefined, files: flags.filename }
    const outputs = {
      text: () => planText(plan, options),
      wide: () => planText(plan, { ...options, isWide: true }),
      json: () => `${writeJson(plan, 2)}\n`,
      yaml: () => writeYaml(plan),
    }
    await print(outputs[flags.output]())
    process.exitCode = exitCodeOf(plan)
  } finally {
    await kube.close()
  }
}

/** Waits until all output is written, because the process exits directly after the command. */
async function print(text: string): Promise<void> {
  await new Promise<void>((resolve) => {
    process.stdout.write(text, () => {
      resolve()
    })
  })
}

/** Parses YAML; undefined for invalid YAML. */
function parsed(text: string): unknown {
  try {
    return readYaml(text)
  } catch {
    return undefined
  }
}

/**
 * The expected durations of the jobs in milliseconds, by `objectKey` of the job's object.
 *
 * @returns undefined if no journal is configured or found (any error of `journalURL`, without a message), or if the
 *   journal does not answer, which is reported on stderr.
 */
async function durationsOf(
  flags: JournalFlags,
  jobs: readonly DryRunJob[],
): Promise<ReadonlyMap<string, number> | undefined> {
  const url = await journalURL(flags, readConfig()).catch(() => undefined)
  if (url === undefined) return undefined
  const journal: Journal = { db: openReader(url), cluster: flags.cluster }
  try {
    const preview = new Map<string, number>()
    const all = jobs.flatMap(withNestedJobs).slice(0, MOST_ASKED)
    // The subject is the object that the job reconciles.
    for (const { subject } of all) {
      const { group = '', kind, namespace, name } = subject
      const ms = await expectedMs(journal, { group, kind, namespace, name })
      if (ms !== undefined) preview.set(objectKey(subject), ms)
    }
    return preview
  } catch (error) {
    process.stderr.write(`pawl: journal: no answer: ${failureText(error)}; the plan shows no durations\n`)
    return undefined
  } finally {
    await journal.db.destroy()
  }
}

/** Further jobs have no expected duration: each one takes two queries. */
const MOST_ASKED = 100

/** The job, then the jobs of its children. */
function withNestedJobs(job: DryRunJob): readonly DryRunJob[] {
  return [job, ...job.jobs.flatMap(withNestedJobs)]
}

/** The expected duration is the median of this many jobs. */
const LATEST = 5

/** The median duration of the object's latest successful jobs in milliseconds; undefined without such jobs. */
async function expectedMs(
  journal: Journal,
  of: { readonly group: string; readonly kind: string; readonly namespace: string; readonly name: string },
): Promise<number | undefined> {
  const [object] = await objectsNamed(journal, of)
  if (object === undefined) return undefined
  // The newest job is first.
  const jobs = await jobsOf(journal, object.uid)
  return median(
    jobs
      .filter(({ phase, finishedAt }) => isGood(phase ?? undefined) && finishedAt !== null)
      .slice(0, LATEST)
      .map(({ startedAt, finishedAt }) => (finishedAt?.getTime() ?? 0) - startedAt.getTime()),
  )
}

/** Of an even number of values the lower one of the two in the middle; undefined without values. */
export function median(values: readonly number[]): number | undefined {
  return [...values].sort((left, right) => left - right)[Math.floor((values.length - 1) / 2)]
}
