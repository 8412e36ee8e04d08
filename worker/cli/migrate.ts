// The commands `pawl migrate up` and `pawl migrate status`.

import { Command } from 'commander'

import type { MigrateTarget } from '../migrate.ts'
import { readConfig } from '../server/config.ts'
import { type FlagTable, type GivenFlags, readFlags } from '../server/flags.ts'
import { neededDatabase } from '../server/shared-settings.ts'
import { TEMPORAL_FLAGS, temporalTarget } from '../server/temporal.ts'
import { optionsOf, withFlags, foldFlags, TEMPORAL_DETAILS, withExamples } from './options.ts'

const TARGET_FLAGS = {
  'database-url': { takes: '<url>', reads: 'text', text: 'PostgreSQL of the journal', default: '$PAWL_DATABASE_URL' },
  'temporal-address': {
    takes: '<host:port>',
    reads: 'text',
    text: 'Temporal',
    default: '$PAWL_TEMPORAL_ADDRESS; without, it is left alone',
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
  const target = readTarget(given)
  const contentKeyPath = readFlags(UP_FLAGS, given)['content-key'] ?? readConfig().contentKeyPath
  const { migrate } = await import('../migrate.ts')
  const added = await migrate({ ...target, contentKeyPath })
  process.stdout.write(added.length === 0 ? 'up to date\n' : added.map((name) => `added ${name}\n`).join(''))
}

async function showStatus(given: GivenFlags): Promise<void> {
  const target = readTarget(given)
  const { migrateStatus } = await import('../migrate.ts')
  const { migrations, missingAttributes } = await migrateStatus(target)
  for (const { name, appliedAt } of migrations)
    process.stdout.write(`${appliedAt?.toISOString() ?? 'missing'}  ${name}\n`)
  for (const name of missingAttributes ?? []) process.stdout.write(`missing  search attribute ${name}\n`)
  const complete =
    migrations.every(({ appliedAt }) => appliedAt !== undefined) && (missingAttributes ?? []).length === 0
  process.exitCode = complete ? 0 : 1
}

function readTarget(given: GivenFlags): MigrateTarget {
  const config = readConfig()
  const flags = readFlags(TARGET_FLAGS, given)
  const address = flags['temporal-address'] ?? config.temporalAddress
  return {
    databaseUrl: neededDatabase(flags['database-url'], config),
    temporal: address === undefined ? undefined : temporalTarget(address, flags, config),
  }
}
