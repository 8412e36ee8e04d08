// How the commands that ask find the journal and the namespace: flags, variables, what `pawl dev` has written.

import type { Command } from 'commander'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { parse } from 'yaml'

import { followedKinds } from '../../../activities/journal/read/asked-objects.ts'
import { openReader, type Reader } from '../../../activities/journal/read/reader.ts'
import { readState } from '../../dev/state.ts'
import { findPlans } from '../../plans/find-plans.ts'
import { type Config, readConfig } from '../../server/config.ts'
import { builtIn } from '../../server/registry.ts'
import { UsageError } from '../../server/usage-error.ts'
import { type AskableKind, askableKinds } from './object-name.ts'
import { coloured, type Paint, plain } from './texts.ts'

export interface AskFlags {
  readonly namespace?: string
  readonly context?: string
  readonly kubeconfig?: string
  readonly databaseUrl?: string
  readonly dataDir?: string
  readonly cluster: string
}

export interface Asked {
  readonly db: Reader
  readonly cluster: string
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
  const url = await journalURL(flags, config)
  const db = openReader(url)
  const own = findPlans(builtIn).map(({ kind }) => kind)
  try {
    return await ask({
      ...{ db, cluster: flags.cluster, namespace: flags.namespace ?? (await namespaceOf(flags, config)) },
      kinds: askableKinds(own, await firstAnswer(followedKinds(db, flags.cluster), url)),
      ownKinds: askableKinds(own, []),
      paint: process.stdout.isTTY && process.stdout.hasColors() ? coloured : plain,
    })
  } finally {
    await db.destroy()
  }
}

/** @throws with the place of the journal, never with its password, when nothing answers there. */
async function firstAnswer<Answer>(answer: Promise<Answer>, url: string): Promise<Answer> {
  return await answer.catch((error: unknown) => {
    const { message = '', code = '' } = error as { readonly message?: string; readonly code?: string }
    throw new Error(
      `the journal at ${URL.parse(url)?.host ?? 'the given address'} does not answer: ${message || code}; expected a PostgreSQL that pawl migrate has prepared`,
    )
  })
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

async function namespaceOf({ kubeconfig, context }: AskFlags, config: Config): Promise<string> {
  const named = kubeconfig ?? config.kubeconfig
  const files = named === undefined ? [join(homedir(), '.kube', 'config')] : named.split(delimiter)
  const texts = await Promise.all(files.map(async (file) => await readFile(file, 'utf8').catch(() => undefined)))
  return namespaceIn(
    texts.flatMap((text) => (text === undefined ? [] : [parse(text) as unknown])),
    context,
  )
}

/** Of the contexts of some kubeconfigs, of which the first that says something is right. @throws UsageError when there is no such context. */
export function namespaceIn(files: readonly unknown[], wanted: string | undefined): string {
  const configs = files.filter((one): one is KubeConfigFile => typeof one === 'object' && one !== null)
  const contexts = configs.flatMap((one) => one.contexts ?? [])
  const current =
    wanted ?? configs.map((one) => one['current-context']).find((name) => name !== undefined && name !== '')
  const context = contexts.find(({ name }) => name === current)
  if (context === undefined && wanted !== undefined)
    throw new UsageError(
      `no context is called '${wanted}', expected one of ${contexts.map(({ name }) => name).join(', ') || 'none'}`,
    )
  const namespace = context?.context?.namespace
  return namespace === undefined || namespace === '' ? 'default' : namespace
}

interface KubeConfigFile {
  readonly 'current-context'?: string
  readonly contexts?: readonly { readonly name: string; readonly context?: { readonly namespace?: string } }[]
}
