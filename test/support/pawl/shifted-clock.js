// Loaded before a process: its clock is off by $SHIFTED_CLOCK_MS.

const offset = Number(process.env.SHIFTED_CLOCK_MS)
const now = Date.now

globalThis.Date = new Proxy(Date, {
  get: (target, name, receiver) => (name === 'now' ? () => now() + offset : Reflect.get(target, name, receiver)),
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now() + offset] : args, newTarget),
  apply: (target) => new target(now() + offset).toString(),
})
