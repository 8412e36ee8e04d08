// The commands `pawl plan show` and `pawl plan list`: what the controllers do, drawn from the plans that they run. Asks no server.
// Source: seeds/ctrlkit-rfc.txt "Future possibilities".

import { Command } from 'commander'

import { controllerFiles, loadRegistry } from '../server/registry.ts'
import { drawPlan, listPlans, PLAN_FORMATS, type PlanFormat } from '../plans/draw-plan.ts'
import { findPlans, type PlannedKind, planNamed } from '../plans/find-plans.ts'
import { joined, parseOneOf } from './usage.ts'

interface PlanFlags {
  readonly controllers?: string
}

const CONTROLLERS = ['--controllers <files>', 'modules of controllers in level mode, separated by commas'] as const

export function planCommand(): Command {
  return new Command('plan')
    .description('draw what the controllers do')
    .addCommand(
      new Command('show')
        .description('draw the plan of a kind, phase by phase')
        .argument('<kind>', 'any name of it, such as Installation, inst or widgets.example.com')
        .option('--format <format>', PLAN_FORMATS.join(', '), parseOneOf(PLAN_FORMATS), 'text')
        .option(...CONTROLLERS, joined)
        .action(async (name: string, { format, ...flags }: PlanFlags & { format: PlanFormat }) => {
          process.stdout.write(drawPlan(planNamed(await allPlans(flags), name), format))
        }),
    )
    .addCommand(
      new Command('list')
        .description('name the kinds that have a plan')
        .option(...CONTROLLERS, joined)
        .action(async (flags: PlanFlags) => {
          process.stdout.write(listPlans(await allPlans(flags)))
        }),
    )
}

async function allPlans({ controllers }: PlanFlags): Promise<readonly PlannedKind[]> {
  return findPlans(await loadRegistry(controllerFiles(controllers)))
}
