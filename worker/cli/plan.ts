// The commands `pawl plan show` and `pawl plan list`, which draw the plans of controllers without a server, and `pawl
// plan -f`, which runs these plans for manifests as a dry run (plan/).
// Source: seeds/ctrlkit-rfc.txt "Future possibilities".

import { Command } from 'commander'

import { controllerFiles, loadRegistry } from '../server/registry.ts'
import { drawPlan, listPlans, PLAN_FORMATS, type PlanFormat } from '../plans/draw-plan.ts'
import { findPlans, type PlannedKind, planNamed } from '../plans/find-plans.ts'
import { drawTrace } from '../plans/draw-trace.ts'
import { UsageError } from '../server/usage-error.ts'
import { addJournalFlags } from './query/open-journal.ts'
import type { PlanFilesFlags } from './plan/plan-files.ts'
import { joined, parseOneOf } from './usage.ts'

interface PlanFlags {
  readonly controllers?: string
}

type FilesFlags = Omit<PlanFilesFlags, 'filename'> & { readonly filename?: string }

const FORMATS = ['text', 'wide', 'json', 'yaml'] as const

const EXAMPLES = `
Examples:
  pawl plan -f shop.yaml            what applying the file would change; exit code 0: nothing, 3: something
  helm template . | pawl plan -f -  the same for manifests from another program
  pawl plan show installation       draw the plan of the controller of Installations`

const CONTROLLERS = ['--controllers <files>', 'modules of controllers in level mode, separated by commas'] as const

export function planCommand(): Command {
  const command = new Command('plan')
    .description('show what applying manifests would change (-f), or draw the plans of controllers (show, list)')
    .option(
      '-f, --filename <files>',
      'manifests, separated by commas, or - for stdin; the command writes nothing',
      joined,
    )
    .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'text')
    .option('--target-allow <servers>', 'servers that Targets and registries may use, as for the worker', joined)
    .option('--registry-local <folder>', 'folder with the components of local repositories, as for the worker')
  return addJournalFlags(command)
    .addHelpText('after', EXAMPLES)
    .action(async ({ filename, ...flags }: FilesFlags) => {
      if (filename === undefined) throw new UsageError('plan: no manifests and no command; add -f FILE, show or list')
      const { planFiles } = await import('./plan/plan-files.ts')
      await planFiles({ ...flags, filename: filename.split(',') })
    })
    .addCommand(
      new Command('show')
        .description('draw the plan of a kind, phase by phase')
        .argument(
          '[kind]',
          'a name of the kind, such as Installation, inst or widgets.example.com, or the name of its controller',
        )
        .option('--format <format>', PLAN_FORMATS.join(', '), parseOneOf(PLAN_FORMATS), 'text')
        .option(...CONTROLLERS, joined)
        .option('--trace <file>', 'instead of a kind: draw the steps that ran in a pass that a test has recorded')
        .addHelpText('after', '\nExamples:\n  pawl plan show inst\n  pawl plan show exec --format mermaid')
        .action(async (name: string | undefined, { format, trace, ...flags }: ShowFlags) => {
          process.stdout.write(await drawPlanOrTrace(name, trace, { format, flags }))
        }),
    )
    .addCommand(
      new Command('list')
        .description('list the kinds that have a plan')
        .option(...CONTROLLERS, joined)
        .addHelpText('after', '\nExamples:\n  pawl plan list\n  pawl plan list --controllers shop.ts')
        .action(async (flags: PlanFlags) => {
          process.stdout.write(listPlans(await allPlans(flags)))
        }),
    )
}

interface ShowFlags extends PlanFlags {
  readonly format: PlanFormat
  readonly trace?: string
}

async function drawPlanOrTrace(
  name: string | undefined,
  trace: string | undefined,
  { format, flags }: { readonly format: PlanFormat; readonly flags: PlanFlags },
): Promise<string> {
  if (trace !== undefined && name === undefined) return await drawTrace(trace, format)
  if (name === undefined || trace !== undefined)
    throw new UsageError(
      `plan show: ${name === undefined ? 'no kind and no --trace' : 'a kind and --trace'}; give one of them`,
    )
  const plans = await allPlans(flags)
  return drawPlan(planNamed(plans, name), format, plans)
}

async function allPlans({ controllers }: PlanFlags): Promise<readonly PlannedKind[]> {
  return await findPlans(await loadRegistry(controllerFiles(controllers), undefined, new Set()))
}
