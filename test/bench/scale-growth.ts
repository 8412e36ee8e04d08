// Part of scale: what an Installation of five items costs, by how many there are at once.

import { writeFile } from 'node:fs/promises'

import { measuredOf, measurePlan } from './course-of-plan.ts'
import { count, figure, markdownTable, seconds } from './markdown.ts'
import type { Measurement } from './measure.ts'
import { plotSvg } from './plot.ts'
import type { PartResult } from './scale-part.ts'
import type { Size } from './scenario-options.ts'
import type { Stage } from './stage.ts'

const ITEMS = 5
const COUNTS: Readonly<Record<Size, readonly number[]>> = {
  full: [1, 10, 50, 200, 500, 1000],
  small: [1, 5, 20, 50, 100],
  tiny: [1, 5, 10],
}

export async function measureGrowth(stage: Stage): Promise<PartResult> {
  const { size, plot } = stage.options.scenarioOptions
  const found: { readonly installations: number; readonly create: Measurement }[] = []
  for (const installations of COUNTS[size]) {
    const plan = { installations, items: ITEMS, shape: 'wide', deployer: 'mock' } as const
    found.push({ installations, create: measuredOf(await measurePlan(stage, plan), 'create') })
  }
  const rows = found.map(({ installations, create: { wallMs, cpuSeconds, requests } }) => [
    `${installations}x${ITEMS}`,
    seconds(wallMs),
    figure(wallMs / installations),
    figure((cpuSeconds * 1000) / installations),
    figure(requests.writes / installations),
    count(requests.conflicts),
  ])
  if (plot !== undefined) await writeFile(plot, draw(found))
  const header = ['', 'time, s', 'ms each', 'CPU each, ms', 'writes each', 'conflicts']
  const note = 'Created in one go in one namespace. CPU of few is mostly that of two idle seconds at the end.'
  return { title: 'Growth', text: `${note}\n\n${markdownTable(header, rows)}`, claims: [] }
}

function draw(found: readonly { readonly installations: number; readonly create: Measurement }[]): string {
  const points = (of: (one: Measurement) => number) =>
    found.map(({ installations, create }) => ({ x: installations, y: of(create) / installations }))
  return plotSvg(
    [
      { title: 'time for each Installation, ms', points: points(({ wallMs }) => wallMs) },
      { title: 'CPU for each Installation, ms', points: points(({ cpuSeconds }) => cpuSeconds * 1000) },
    ],
    `Installations of ${ITEMS} items, created at once`,
  )
}
