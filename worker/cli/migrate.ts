// The commands `pawl migrate up` and `pawl migrate status`.

import { Command } from 'commander'

import { readConfig } from '../server/config.ts'
import type { MigrateTarget } from '../migrate.ts'
import { UsageError } from '../server/usage-error.ts'

interface MigrateFlags {
  readonly databaseUrl?: string
  readonly temporalAddress?: string
  readonly temporalNamespace?: string
  readonly contentKey?: string
}

export function migrateCommand(): Command {
  return new Command('migrate')
    .description("bring the journal's tables and Temporal's search attributes up to date")
    .addCommand(
      withTarget(new Command('up').description('apply what is missing; repeatable'))
        .option('--content-key <file>', 'key of content hashes, made when missing (default: $PAWL_CONTENT_KEY)')
        .action(async (flags: MigrateFlags) => {
          const { migrate } = await import('../migrate.ts')
          const added = await migrate({
            ...target(flags),
            contentKeyPath: flags.contentKey ?? readConfig().contentKeyPath,
          })
          process.stdout.write(added.length === 0 ? 'up to date\n' : added.map((name) => `added ${name}\n`).join(''))
        }),
    )
    .addCommand(
      withTarget(new Command('status').description('show what is missing; exit code 0 only when nothing is')).action(
        showStatus,
      ),
    )
}

function withTarget(command: Command): Command {
  return command
    .option('--database-url <url>', 'PostgreSQL of the journal (default: $PAWL_DATABASE_URL)')
    .option('--temporal-address <host:port>', 'Temporal (default: $PAWL_TEMPORAL_ADDRESS; without, it is left alone)')
    .option('--temporal-namespace <name>', 'namespace in Temporal (default: $PAWL_TEMPORAL_NAMESPACE, or default)')
}

async function showStatus(flags: MigrateFlags): Promise<void> {
  const { migrateStatus } = await import('../migrate.ts')
  const { migrations, missingAttributes } = await migrateStatus(target(flags))
  for (const { name, appliedAt } of migrations)
    process.stdout.write(`${appliedAt?.toISOString() ?? 'missing'}  ${name}\n`)
  for (const name of missingAttributes ?? []) process.stdout.write(`missing  search attribute ${name}\n`)
  const complete =
    migrations.every(({ appliedAt }) => appliedAt !== undefined) && (missingAttributes ?? []).length === 0
  process.exitCode = complete ? 0 : 1
}

function target(flags: MigrateFlags): MigrateTarget {
  const config = readConfig()
  const databaseUrl = flags.databaseUrl ?? config.databaseUrl
  if (databaseUrl === undefined) throw new UsageError('no database given, expected --database-url or PAWL_DATABASE_URL')
  const address = flags.temporalAddress ?? config.temporalAddress
  const namespace = flags.temporalNamespace ?? config.temporalNamespace
  return { databaseUrl, temporal: address === undefined ? undefined : { address, namespace } }
}
