// The commands `pawl migrate up` and `pawl migrate status`.

import { Command } from 'commander'

import type { MigrateTarget } from '../migrate.ts'
import { type Config, readConfig } from '../server/config.ts'
import { type FlagTable, type GivenFlags, readFlags } from '../server/flags.ts'
import { neededDatabase } from '../server/shared-settings.ts'
import { TEMPORAL_FLAGS, temporalTarget } from '../server/temporal.ts'
import { DATA_DIR_OPTION } from './dev-folder.ts'
import { devAddress } from './temporal-address.ts'
import { devJournalURL } from './query/open-journal.ts'
import { optionsOf, withFlags, foldFlags, TEMPORAL_DETAILS, withExamples } from './options.ts'

const TARGET_FLAGS = {
  'database-url': {
    takes: '<url>',
    reads: 'text',
    text: 'PostgreSQL of the journal',
    default: '$PAWL_DATABASE_URL, else from pawl dev',
  },
  'data-dir': { takes: '<dir>', reads: 'text', text: DATA_DIR_OPTION[1] },
  'temporal-address': {
    takes: '<host:port>',
    reads: 'text',
    text: 'Temporal',
    default: '$PAWL_TEMPORAL_ADDRESS, else from pawl dev if the database is; without, it is left alone',
  },
  ...TEMPORAL_FLAGS,
} as const satisfies FlagTable

const UP_FLAGS = {
  ...TARGET_FLAGS,
  'content-key': {
    takes: '<file>',
    reads: 'text',
    text: 'key of content hashes; created if it is missing',
    default: '$PAWL_CONTENT_KEY',
  },
} as const satisfies FlagTable

export function migrateCommand(): Command {
  const up = withFlags(new Command('up').description('apply missing migrations; repeatable'), UP_FLAGS)
  const status = withFlags(
    new Command('status').description('show missing migrations; exit code 0 only if none is missing'),
    TARGET_FLAGS,
  )
  for (const command of [up, status]) {
    foldFlags(command, TEMPORAL_DETAILS)
    withExamples(command, `pawl migrate ${command.name()} --database-url postgres://pawl@db/pawl`)
  }
  return new Command('migrate')
    .summary("bring the journal's tables up to date")
    .description("bring the journal's tables and Temporal's search attributes up to date")
    .addCommand(up.action(async () => await bringUp(optionsOf(up))))
    .addCommand(status.action(async () => await showStatus(optionsOf(status))))
}

async function bringUp(given: GivenFlags): Promise<void> {
  const target = await readTarget(given, readConfig())
  const contentKeyPath = readFlags(UP_FLAGS, given)['content-key'] ?? readConfig().contentKeyPath
  const { migrate } = await import('../migrate.ts')
  const added = await migrate({ ...target, contentKeyPath })
  process.stdout.write(added.length === 0 ? 'up to date\n' : added.map((name) => `added ${name}\n`).join(''))
}

async function showStatus(given: GivenFlags): Promise<void> {
  const target = await readTarget(given, readConfig())
  const { migrateStatus } = await import('../migrate.ts')
  const { migrations, missingAttributes } = await migrateStatus(target)
  for (const { name, appliedAt } of migrations)
    process.stdout.write(`${appliedAt?.toISOString() ?? 'missing'}  ${name}\n`)
  for (const name of missingAttributes ?? []) process.stdout.write(`missing  search attribute ${name}\n`)
  const complete =
    migrations.every(({ appliedAt }) => appliedAt !== undefined) && (missingAttributes ?? []).length === 0
  process.exitCode = complete ? 0 : 1
}

/**
 * The database is that of the flags, of $PAWL_DATABASE_URL, or of a running `pawl dev`. Temporal of `pawl dev` belongs only to its own database.
 *
 * @throws UsageError that lists the searched places.
 */
export async function readTarget(given: GivenFlags, config: Config): Promise<MigrateTarget> {
  const flags = readFlags(TARGET_FLAGS, given)
  const [url, dataDir] = [flags['database-url'], flags['data-dir']]
  const dev = { ...(dataDir !== undefined && { dataDir }) }
  const isOfDev = url === undefined && (dataDir !== undefined || config.databaseUrl === undefined)
  const address =
    flags['temporal-address'] ?? config.temporalAddress ?? (isOfDev ? await devAddress(dev, config) : undefined)
  return {
    databaseUrl: isOfDev
      ? await devJournalURL(dev, config, '--data-dir or --database-url')
      : neededDatabase(url, config),
    temporal: address === undefined ? undefined : temporalTarget(address, flags, config),
  }
}
