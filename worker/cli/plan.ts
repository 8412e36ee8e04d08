// The commands `pawl plan show` and `pawl plan list`: what the controllers do, drawn from the plans that they run. Asks no server.
// Source: seeds/ctrlkit-rfc.txt "Future possibilities".

import { Command } from 'commander'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

import { drawPlan, listPlans, PLAN_FORMATS, type PlanFormat } from './plan/draw-plan.ts'
import { findPlans, planNamed } from './plan/find-plans.ts'
import { parseOneOf } from './usage.ts'

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

export function planCommand(): Command {
  return new Command('plan')
    .description('draw what the controllers do')
    .addCommand(
      new Command('show')
        .description('draw the plan of a kind, phase by phase')
        .argument('<kind>', 'any name of it, such as Installation, installations or inst')
        .option('--format <format>', PLAN_FORMATS.join(', '), parseOneOf(PLAN_FORMATS), 'text')
        .action(async (name: string, { format }: { format: PlanFormat }) => {
          process.stdout.write(drawPlan(planNamed(await findPlans(ROOT), name), format))
        }),
    )
    .addCommand(
      new Command('list').description('name the kinds that have a plan').action(async () => {
        process.stdout.write(listPlans(await findPlans(ROOT)))
      }),
    )
}
