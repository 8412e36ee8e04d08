// How the commands that ask find the journal and the namespace: flags, variables, what `pawl dev` has written.

import type { Command } from 'commander'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import { followedKinds } from '../../../activities/journal/read/asked-objects.ts'
import { type Journal, openReader } from '../../../activities/journal/read/reader.ts'
import { readState } from '../../dev/state.ts'
import { findPlans } from '../../plans/find-plans.ts'
import { type Config, readConfig } from '../../server/config.ts'
import { builtIn } from '../../server/registry.ts'
import { UsageError } from '../../server/usage-error.ts'
import { type ContextFlags, namespaceOf } from '../kubeconfig.ts'
import { type AskableKind, askableKinds } from './object-name.ts'
import { coloured, type Paint, plain } from './texts.ts'

export interface AskFlags extends ContextFlags {
  readonly databaseUrl?: string
  readonly dataDir?: string
  readonly cluster: string
}

export interface Asked extends Journal {
  readonly namespace: string
  readonly kinds: readonly AskableKind[]
  /** Those with a controller of Pawl's own. */
  readonly ownKinds: readonly AskableKind[]
  readonly paint: Paint
}

export function withAskFlags(command: Command): Command {
  return command
    .option('-n, --namespace <name>', "the objects' namespace (default: that of the kubeconfig's context)")
    .option('--context <name>', 'context of the kubeconfig (default: its current one)')
    .option('--kubeconfig <file>', 'where the context stands (default: $KUBECONFIG)')
    .option('--database-url <url>', 'PostgreSQL of the journal (default: $PAWL_DATABASE_URL, else that of pawl dev)')
    .option('--data-dir <dir>', 'the data folder that was given to pawl dev')
    .option('--cluster <name>', 'name of the cluster in the journal', 'local')
}

/** Opens the journal for one question and closes it again. */
export async function asking<Answer>(flags: AskFlags, ask: (asked: Asked) => Promise<Answer>): Promise<Answer> {
  const config = readConfig()
  const namespace = await namespaceOf(flags, config)
  const url = await journalURL(flags, config)
  const journal = { db: openReader(url), cluster: flags.cluster }
  const own = findPlans(builtIn).map(({ kind }) => kind)
  try {
    return await ask({
      ...{ ...journal, namespace },
      kinds: askableKinds(own, await firstAnswer(followedKinds(journal), url)),
      ownKinds: askableKinds(own, []),
      paint: process.stdout.isTTY && process.stdout.hasColors() ? coloured : plain,
    })
  } finally {
    await journal.db.destroy()
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

/** @throws UsageError that says where a journal was looked for. */
export async function journalURL({ databaseUrl, dataDir }: AskFlags, config: Config): Promise<string> {
  const given = databaseUrl ?? (dataDir === undefined ? config.databaseUrl : undefined)
  if (given !== undefined && given !== '') return given
  const folder = dataDir === undefined ? config.dataDir : resolve(dataDir)
  const state = await readState(folder)
  const part = state?.parts.find(({ name }) => name === 'postgresql')
  const expected = 'expected --database-url, $PAWL_DATABASE_URL, or a pawl dev that runs'
  if (state === undefined) throw new UsageError(`no journal: nothing runs for ${folder}; ${expected}`)
  if (part === undefined || part.address === null || part.process === null)
    throw new UsageError(`no journal: pawl dev for ${folder} uses a PostgreSQL of your own; ${expected}`)
  const url = new URL(part.address)
  url.username = 'pawl'
  url.password = (await readFile(join(folder, 'postgresql', 'password'), 'utf8')).trim()
  return url.href
}
