// Formats, stores and compares the cost of test files. `test/costs.txt` is the stored table: one line per file, most expensive first.

import type { FileCost } from './measure-file.ts'

export interface MeasuredFile extends FileCost {
  /** Path below the checkout, for example `test/e2e/crash.test.ts`. */
  readonly file: string
  readonly project: string
}

/** A file is reported when its CPU time has doubled and has grown by this much: below that, differences between two runs are noise. */
const REPORTED_GROWTH_CPU_SECONDS = 5

const HEADER =
  '# CPU seconds, wall seconds and started processes of each test file. Written by PAWL_RECORD_COSTS=1 npm test; compared by npm test.'

export function formatTable(files: readonly MeasuredFile[]): string {
  return `${[HEADER, ...byCpu(files).map(formatLine)].join('\n')}\n`
}

/** @throws Error with the number of the first line that is not in the format of `formatTable`. */
export function parseTable(text: string): MeasuredFile[] {
  const files: MeasuredFile[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '' || line.startsWith('#')) continue
    const match = /^ *([\d.]+) +([\d.]+) +(\d+) +(\S+) +(\S+)$/.exec(line)
    if (match === null) throw new Error(`test/costs.txt: line ${index + 1}: expected five columns, found "${line}"`)
    const [, cpu = '', wall = '', processes = '', project = '', file = ''] = match
    files.push({
      file,
      project,
      cpuSeconds: Number(cpu),
      wallSeconds: Number(wall),
      processes: Number(processes),
    })
  }
  return files
}

/** The ten most expensive files, the sum of each project, and the files that became twice as expensive as in the stored table. */
export function formatReport(files: readonly MeasuredFile[], stored: readonly MeasuredFile[]): string {
  const lines = ['Most expensive test files (CPU s, wall s, processes started):']
  for (const file of byCpu(files).slice(0, 10)) lines.push(formatLine(file))
  lines.push('Sum per project:')
  for (const project of new Set(files.map((file) => file.project))) {
    const members = files.filter((file) => file.project === project)
    lines.push(formatLine(sumOf(project, members)))
  }
  for (const { file, before } of doubledFiles(files, stored))
    lines.push(
      `COST DOUBLED: ${file.file}: ${file.cpuSeconds.toFixed(1)} s of CPU, stored ${before.cpuSeconds.toFixed(1)} s; make the file cheaper, or store the new cost with PAWL_RECORD_COSTS=1 npm test`,
    )
  return `${lines.join('\n')}\n`
}

export function doubledFiles(
  files: readonly MeasuredFile[],
  stored: readonly MeasuredFile[],
): { file: MeasuredFile; before: MeasuredFile }[] {
  const storedByName = new Map(stored.map((file) => [file.file, file]))
  const doubled: { file: MeasuredFile; before: MeasuredFile }[] = []
  for (const file of files) {
    const before = storedByName.get(file.file)
    if (before === undefined) continue
    const growth = file.cpuSeconds - before.cpuSeconds
    if (growth >= before.cpuSeconds && growth >= REPORTED_GROWTH_CPU_SECONDS) doubled.push({ file, before })
  }
  return doubled
}

function byCpu(files: readonly MeasuredFile[]): MeasuredFile[] {
  return files.toSorted((a, b) => b.cpuSeconds - a.cpuSeconds || (a.file < b.file ? -1 : 1))
}

function sumOf(project: string, files: readonly MeasuredFile[]): MeasuredFile {
  const sum = { file: `(${files.length} files)`, project, cpuSeconds: 0, wallSeconds: 0, processes: 0 }
  for (const file of files) {
    sum.cpuSeconds += file.cpuSeconds
    sum.wallSeconds += file.wallSeconds
    sum.processes += file.processes
  }
  return sum
}

function formatLine(file: MeasuredFile): string {
  const cpu = file.cpuSeconds.toFixed(1).padStart(7)
  const wall = file.wallSeconds.toFixed(1).padStart(7)
  const processes = String(file.processes).padStart(4)
  return `${cpu} ${wall} ${processes} ${file.project.padEnd(8)} ${file.file}`
}
