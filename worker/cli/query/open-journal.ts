// How the commands that ask find the journal and the namespace: flags, variables, what `pawl dev` has written, what the cluster says. A database answers
// them, or `pawl api`; they need not know which.

import type { Command } from 'commander'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Questions, QuestionName } from '../../../activities/journal/read/questions.ts'
import type { Journal } from '../../../activities/journal/read/reader.ts'
import { readState } from '../../dev/state.ts'
import { findPlans } from '../../plans/find-plans.ts'
import { type Config, readConfig } from '../../server/config.ts'
import { builtIn } from '../../server/registry.ts'
import { UsageError } from '../../server/usage-error.ts'
import { DATA_DIR_OPTION, devFolder, findDev } from '../dev-folder.ts'
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

/** What a command asks; its `db` is there only where a database answers. */
export interface JournalSession extends Journal, Questions {
  readonly namespace: string
  readonly kinds: readonly QueryableKind[]
  /** Those with a controller of Pawl's own. */
  readonly ownKinds: readonly QueryableKind[]
  readonly paint: Paint
}

export function addJournalFlags(command: Command): Command {
  return command
    .option('-n, --namespace <name>', "the objects' namespace (default: that of the kubeconfig's context)")
    .option('--context <name>', 'context of the kubeconfig (default: its current one)')
    .option('--kubeconfig <file>', 'where the context stands (default: $KUBECONFIG)')
    .option('--database-url <url>', 'PostgreSQL of the journal (default: $PAWL_DATABASE_URL, else that of pawl dev)')
    .option(...DATA_DIR_OPTION)
    .option('--api-url <url>', 'pawl api, which is asked in place of the database (default: $PAWL_API_URL)')
    .option('--api-service <name>', 'its Service, as namespace/name (default: that of the cluster)')
    .option('--cluster <name>', 'name of the cluster in the journal', 'local')
}

/** Opens the journal for one question and closes it again. */
export async function withJournal<Answer>(
  flags: JournalFlags,
  use: (asked: JournalSession) => Promise<Answer>,
): Promise<Answer> {
  const config = readConfig()
  const namespace = await namespaceOf(flags, config)
  const session = await openFound(await findJournal(flags, config), flags, config)
  const own = findPlans(builtIn).map(({ kind }) => kind)
  try {
    const followed = await session.firstAnswer(session.questions.followedKinds())
    return await use({
      ...session.questions,
      // Who needs it is told where it is not.
      get db() {
        return session.db()
      },
      cluster: flags.cluster,
      namespace,
      kinds: queryableKinds(own, followed),
      ownKinds: queryableKinds(own, []),
      paint: process.stdout.isTTY && process.stdout.hasColors() ? ansiPaint : plainPaint,
    })
  } finally {
    await session.close()
  }
}

interface Opened {
  readonly questions: Questions
  /** @throws UsageError where no database answers. */
  readonly db: () => Journal['db']
  readonly firstAnswer: <Answer>(answer: Promise<Answer>) => Promise<Answer>
  readonly close: () => Promise<void>
}

async function openFound(found: FoundJournal, flags: JournalFlags, config: Config): Promise<Opened> {
  if ('url' in found) {
    // Who asks `pawl api` does without the client of a database.
    const [{ openReader }, { questionsTo }] = await Promise.all([
      import('../../../activities/journal/read/reader.ts'),
      import('../../../activities/journal/read/questions.ts'),
    ])
    const db = openReader(found.url)
    return {
      questions: questionsTo({ db, cluster: flags.cluster }),
      db: () => db,
      firstAnswer: async (answer) => await firstAnswer(answer, found.url),
      close: async () => await db.destroy(),
    }
  }
  const { ask: use, close } = await openApi(found.api, flags, config)
  return {
    questions: apiQuestions(use),
    db: () => {
      throw new UsageError(`${addressText(found.api)} does not answer this command; expected --database-url`)
    },
    firstAnswer: async (answer) => await answer,
    close,
  }
}

/** @throws with the place of the journal, never with its password, when nothing answers there. */
async function firstAnswer<Answer>(answer: Promise<Answer>, url: string): Promise<Answer> {
  return await answer.catch((error: unknown) => {
    throw new Error(
      `the journal at ${URL.parse(url)?.host ?? 'the given address'} does not answer: ${failureText(error)}; expected a PostgreSQL that pawl migrate has prepared`,
    )
  })
}

/** What a failed question says of itself: several addresses that refuse have a code and no message. */
export function failureText(error: unknown): string {
  const { message = '', code = '' } = error as { readonly message?: string; readonly code?: string }
  return message || code
}

type FoundJournal = { readonly url: string } | { readonly api: ApiAddress }

/** A flag beats a variable, a variable what runs here, and that what the cluster says. @throws UsageError that says where a journal was looked for. */
export async function findJournal(flags: JournalFlags, config: Config): Promise<FoundJournal> {
  const flagAddress = apiAddressOf(flags.apiUrl, flags.apiService, '--')
  if (flagAddress !== undefined && flags.databaseUrl !== undefined)
    throw new UsageError('found --database-url beside the address of pawl api; expected one of them')
  if (flagAddress !== undefined) return { api: flagAddress }
  if (flags.databaseUrl !== undefined || flags.dataDir !== undefined || config.databaseUrl !== undefined)
    return { url: await journalURL(flags, config) }
  const byVariable = apiAddressOf(config.apiUrl, config.apiService, '$')
  if (byVariable !== undefined) return { api: byVariable }
  if ((await findDev(flags, config)) !== undefined) return { url: await journalURL(flags, config) }
  const clusterAddress = await apiOfCluster(flags, config)
  return clusterAddress === undefined ? { url: await journalURL(flags, config) } : { api: clusterAddress }
}

const EXPECTED_JOURNAL =
  'expected a pawl dev that runs, by the $KUBECONFIG that it has written or by --data-dir; else --database-url or $PAWL_DATABASE_URL; or pawl api, see --api-url'

/** @throws UsageError that says where a journal was looked for. */
export async function journalURL(flags: JournalFlags, config: Config): Promise<string> {
  const { databaseUrl, dataDir } = flags
  const explicitURL = databaseUrl ?? (dataDir === undefined ? config.databaseUrl : undefined)
  if (explicitURL !== undefined && explicitURL !== '') return explicitURL
  const folder = await devFolder(flags, config)
  const state = await readState(folder)
  const part = state?.parts.find(({ name }) => name === 'postgresql')
  if (state === undefined) throw new UsageError(`no journal: no pawl dev runs for ${folder}; ${EXPECTED_JOURNAL}`)
  if (part === undefined || part.address === null || part.process === null)
    throw new UsageError(`no journal: pawl dev for ${folder} uses a PostgreSQL of your own; ${EXPECTED_JOURNAL}`)
  const url = new URL(part.address)
  url.username = 'pawl'
  url.password = (await readFile(join(folder, 'postgresql', 'password'), 'utf8')).trim()
  return url.href
}

// The questions, answered by `pawl api`.

/** Sends the input of a question, and gives the body of the answer back. */
type ApiCall = (name: QuestionName, input: unknown) => Promise<unknown>

export function apiQuestions(use: ApiCall): Questions {
  const names = Object.keys(WIRE_FORMATS) as QuestionName[]
  const entries = names.map((name) => {
    // The arguments are those of this question, as its type says.
    const input = WIRE_FORMATS[name].input as (...args: readonly unknown[]) => unknown
    return [name, async (...args: readonly unknown[]) => answerIn(name, await use(name, input(...args)))]
  })
  return Object.fromEntries(entries) as Questions
}
