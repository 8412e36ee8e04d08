// Finds and opens the journal for a query command: by flags, variables, a running `pawl dev`, or the cluster's
// ConfigMap. Either the database or `pawl api` answers; the commands work with both.

import type { Command } from 'commander'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { JournalQueries, QueryName } from '../../../activities/journal/read/queries.ts'
import type { Journal } from '../../../activities/journal/read/reader.ts'
import { readState } from '../../dev/state.ts'
import { isSameGroupKind } from '../../../workflows/kit/index.ts'
import { plannedKinds } from '../../plans/find-plans.ts'
import { type Config, readConfig } from '../../server/config.ts'
import { builtInRegistry } from '../../server/registry.ts'
import { UsageError } from '../../server/usage-error.ts'
import { DATA_DIR_OPTION, DEV_HINT, type DevFlags, devFolder, findDev } from '../dev-folder.ts'
import { apiAddressOf, type ApiAddress, apiOfCluster, openApi, addressText } from '../api-place.ts'
import { type ContextFlags, namespaceOf } from '../kubeconfig.ts'
import { type QueryableKind, queryableKinds } from './object-name.ts'
import { ansiPaint, type Paint, plainPaint } from './format.ts'
import { answerIn, WIRE_FORMATS } from '../../api/wire.ts'

export interface JournalFlags extends ContextFlags {
  readonly databaseUrl?: string
  readonly dataDir?: string
  readonly apiUrl?: string
  readonly apiService?: string
  readonly cluster: string
}

/** An open journal. `db` throws a UsageError if `pawl api` answers. */
export interface JournalSession extends Journal, JournalQueries {
  readonly namespace: string
  readonly kinds: readonly QueryableKind[]
  /** The kinds with a controller that a bridge follows. */
  readonly ownKinds: readonly QueryableKind[]
  readonly paint: Paint
}

export function addJournalFlags(command: Command): Command {
  return command
    .option('-n, --namespace <name>', "the objects' namespace (default: from the kubeconfig's context)")
    .option('--context <name>', 'context of the kubeconfig (default: its current one)')
    .option('--kubeconfig <file>', 'file of the context (default: $KUBECONFIG)')
    .option('--database-url <url>', 'PostgreSQL of the journal (default: $PAWL_DATABASE_URL, else from pawl dev)')
    .option(...DATA_DIR_OPTION)
    .option('--api-url <url>', 'URL of pawl api, used instead of the database (default: $PAWL_API_URL)')
    .option('--api-service <name>', 'Service of pawl api, as namespace/name (default: from the cluster)')
    .option('--cluster <name>', 'name of the cluster in the journal', 'local')
}

/** Opens the journal, calls `use`, and closes the journal. */
export async function withJournal<Answer>(
  flags: JournalFlags,
  use: (journal: JournalSession) => Promise<Answer>,
): Promise<Answer> {
  const config = readConfig()
  const namespace = await namespaceOf(flags, config)
  const session = await openLocation(await findJournal(flags, config), flags, config)
  const ownKinds = plannedKinds(builtInRegistry)
  try {
    const followed = await session.firstAnswer(session.questions.followedKinds())
    const kinds = queryableKinds(ownKinds, followed)
    return await use({
      ...session.questions,
      get db() {
        return session.db()
      },
      cluster: flags.cluster,
      namespace,
      kinds,
      ownKinds: kinds.filter((kind) => kind.isFollowed && ownKinds.some((own) => isSameGroupKind(own, kind))),
      paint: process.stdout.isTTY && process.stdout.hasColors() ? ansiPaint : plainPaint,
    })
  } finally {
    await session.close()
  }
}

interface OpenJournal {
  readonly questions: JournalQueries
  /** @throws UsageError if `pawl api` answers. */
  readonly db: () => Journal['db']
  /** Waits for the first answer of the journal. @throws an Error that names the database if it does not answer. */
  readonly firstAnswer: <Answer>(answer: Promise<Answer>) => Promise<Answer>
  readonly close: () => Promise<void>
}

async function openLocation(location: JournalLocation, flags: JournalFlags, config: Config): Promise<OpenJournal> {
  if ('url' in location) {
    // Commands that use `pawl api` do not load the database client.
    const [{ openReader }, { queriesOf }] = await Promise.all([
      import('../../../activities/journal/read/reader.ts'),
      import('../../../activities/journal/read/queries.ts'),
    ])
    const db = openReader(location.url)
    return {
      questions: queriesOf({ db, cluster: flags.cluster }),
      db: () => db,
      firstAnswer: async (answer) => await firstDatabaseAnswer(answer, location.url),
      close: async () => await db.destroy(),
    }
  }
  const { ask: call, close } = await openApi(location.api, flags, config)
  return {
    questions: apiQuestions(call),
    db: () => {
      throw new UsageError(`${addressText(location.api)} does not answer this command; pass --database-url`)
    },
    firstAnswer: async (answer) => await answer,
    close,
  }
}

/** @throws an Error with the journal's host, without its password, if it does not answer. */
async function firstDatabaseAnswer<Answer>(answer: Promise<Answer>, url: string): Promise<Answer> {
  return await answer.catch((error: unknown) => {
    throw new Error(
      `the journal at ${URL.parse(url)?.host ?? 'the given address'} does not answer: ${failureText(error)}; check the address, and prepare the database with pawl migrate up`,
    )
  })
}

/** The message, or the code for errors without a message, such as refused connections to several addresses. */
export function failureText(error: unknown): string {
  const { message = '', code = '' } = error as { readonly message?: string; readonly code?: string }
  return message || code
}

type JournalLocation = { readonly url: string } | { readonly api: ApiAddress }

/**
 * Order: flags, variables, a running `pawl dev`, the cluster's ConfigMap. @throws UsageError that lists the searched
 * places.
 */
export async function findJournal(flags: JournalFlags, config: Config): Promise<JournalLocation> {
  const flagAddress = apiAddressOf(flags.apiUrl, flags.apiService, '--')
  if (flagAddress !== undefined && flags.databaseUrl !== undefined)
    throw new UsageError('--database-url and the address of pawl api exclude each other; pass one of them')
  if (flagAddress !== undefined) return { api: flagAddress }
  if (flags.databaseUrl !== undefined || flags.dataDir !== undefined || config.databaseUrl !== undefined)
    return { url: await journalURL(flags, config) }
  const variableAddress = apiAddressOf(config.apiUrl, config.apiService, '$')
  if (variableAddress !== undefined) return { api: variableAddress }
  if ((await findDev(flags, config)) !== undefined) return { url: await journalURL(flags, config) }
  const clusterAddress = await apiOfCluster(flags, config)
  // Without an address, `journalURL` throws the error that lists the searched places.
  return clusterAddress === undefined ? { url: await journalURL(flags, config) } : { api: clusterAddress }
}

const JOURNAL_FLAGS = '--data-dir, --database-url or --api-url'

/** Order: --database-url, --data-dir, $PAWL_DATABASE_URL, a running `pawl dev`. @throws UsageError that lists the searched places. */
export async function journalURL(flags: JournalFlags, config: Config): Promise<string> {
  const { databaseUrl, dataDir } = flags
  const explicitURL = databaseUrl ?? (dataDir === undefined ? config.databaseUrl : undefined)
  if (explicitURL !== undefined && explicitURL !== '') return explicitURL
  return await devJournalURL(flags, config, JOURNAL_FLAGS)
}

/** The journal of a running `pawl dev`. @param ways the flags of the command, for the error. @throws UsageError */
export async function devJournalURL(flags: DevFlags, config: Config, ways: string): Promise<string> {
  const folder = await devFolder(flags, config)
  const state = await readState(folder)
  const postgresql = state?.parts.find(({ name }) => name === 'postgresql')
  if (state === undefined)
    throw new UsageError(`no journal: no pawl dev runs for ${folder}; ${DEV_HINT}, or pass ${ways}`)
  if (postgresql === undefined || postgresql.address === null || postgresql.process === null)
    throw new UsageError(`no journal: pawl dev for ${folder} uses your own PostgreSQL; pass --database-url`)
  const url = new URL(postgresql.address)
  url.username = 'pawl'
  url.password = (await readFile(join(folder, 'postgresql', 'password'), 'utf8')).trim()
  return url.href
}

/** Sends the input of a question to `pawl api` and returns the body of the answer. */
type ApiCall = (name: QueryName, input: unknown) => Promise<unknown>

export function apiQuestions(call: ApiCall): JournalQueries {
  const names = Object.keys(WIRE_FORMATS) as QueryName[]
  const entries = names.map((name) => {
    // The arguments match the question's type.
    const input = WIRE_FORMATS[name].input as (...args: readonly unknown[]) => unknown
    return [name, async (...args: readonly unknown[]) => answerIn(name, await call(name, input(...args)))]
  })
  return Object.fromEntries(entries) as JournalQueries
}
