// Line icons, drawn here so that nothing is fetched.
const PATHS = {
  up: "M7 11v9H4v-9zM7 11l4-8c1.500 0 2.500 1 2.500 2.500V9H19a1.500 1.500 0 0 1 1.500 1.800l-1.400 7.500A2 2 0 0 1 17 20H7",
  down: "M17 13V4h3v9zM17 13l-4 8c-1.500 0-2.500-1-2.500-2.500V15H5a1.500 1.500 0 0 1-1.500-1.800l1.400-7.500A2 2 0 0 1 7 4h10",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  save: "M12 4v11M7 11l5 5 5-5M4 20h16",
  again: "M20 12a8 8 0 1 1-2.500-5.800M20 3v5h-5",
  close: "M6 6l12 12M18 6L6 18",
  send: "M5 12h14M13 6l6 6-6 6",
  stop: "M7 7h10v10H7z",
  edit: "M4 20l1-4L16 5l3 3L8 19z",
  bin: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4 12H2M22 12h-2M5 5l1.500 1.500M17.500 17.500L19 19M19 5l-1.500 1.500M6.500 17.500L5 19",
  dark: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
  attach: "M19 11l-7.500 7.500a4.500 4.500 0 0 1-6.400-6.400L13 4.200a3 3 0 0 1 4.300 4.300l-7.800 7.800a1.500 1.500 0 0 1-2.200-2.200L14 7.500",
  scope: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  pin: "M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v6",
  print: "M7 9V3h10v6M7 17H4v-8h16v8h-3M7 14h10v7H7z",
  share: "M6 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM17 3a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM17 15a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8.700 10.700l5.600-3.300M8.700 13.300l5.600 3.300",
  more: "M12 5v14M5 12h14",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
} as const;

/** Those that point where the text goes. */
const POINTING = ["send", "left", "right"];

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class={POINTING.includes(name) ? "icon pointing" : "icon"} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
