// One job, replayed and shown: page by page on a terminal, else all pages or JSON.

import { writeJson } from '../../../workflows/kit/index.ts'
import { coloured, plain } from '../ask/texts.ts'
import { type CodeFlags, codeOf, type LoadedJob } from './load.ts'
import { type Recording, recordRuns } from './record.ts'
import { replayedJob, upTo } from './replayed-job.ts'
import { stepThrough } from './stepper.ts'
import { headText, passText } from './text.ts'

export interface ShowFlags extends CodeFlags {
  readonly to?: string
  readonly output: 'text' | 'json'
}

export async function showJob(job: LoadedJob, flags: ShowFlags, payloadKeyPath: string | undefined): Promise<void> {
  const code = await codeOf(flags)
  const recordings: Recording[] = []
  for await (const one of recordRuns({ code, payloadKeyPath }, [...job.earlier, job])) recordings.push(one)
  const replayed = replayedJob(job, recordings)
  const passes = flags.to === undefined ? replayed.passes : upTo(replayed, flags.to)
  if (flags.output === 'json') {
    process.stdout.write(`${writeJson({ ...replayed, passes }, 2)}\n`)
    return
  }
  const paint = process.stdout.isTTY && process.stdout.hasColors() ? coloured : plain
  const pages = passes.map((one) => passText(one, replayed.passes.length, paint))
  process.stdout.write(headText(replayed, paint))
  if (pages.length > 1 && process.stdin.isTTY && process.stdout.isTTY)
    await stepThrough(
      passes.map(({ pass }) => pass),
      (index) => pages[index] ?? '',
    )
  else process.stdout.write(pages.join(''))
}
