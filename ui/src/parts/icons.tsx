/** Line icons on a 20 × 20 grid. Decorative: what they mean is always also said in words. */
import type { ReactNode } from "react";

const draw = (children: ReactNode) => (props: { className?: string }) => (
  <svg
    viewBox="0 0 20 20"
    width="18"
    height="18"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.5"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    className={`shrink-0 ${props.className ?? ""}`}>
    {children}
  </svg>
);

export const Overview = draw(
  <>
    <path d="M3 16.5h14" />
    <path d="M4.5 13l3.5-4 3 2.5L16 5.5" />
    <path d="M12.6 5.5H16v3.4" />
  </>,
);
export const Sessions = draw(
  <>
    <path d="M3.5 5.5a2 2 0 012-2h9a2 2 0 012 2v6a2 2 0 01-2 2H9l-3.5 3v-3a2 2 0 01-2-2z" />
    <path d="M7 7.5h6M7 10h4" />
  </>,
);
export const Shadow = draw(
  <>
    <circle cx="7.8" cy="10" r="4.8" />
    <path d="M11 5.6a4.8 4.8 0 110 8.8" strokeDasharray="2.2 2" />
  </>,
);
export const Experiments = draw(
  <>
    <path d="M8 3h4M8.8 3v4.6L4.6 14.9A1.5 1.5 0 005.9 17h8.2a1.5 1.5 0 001.3-2.1L11.2 7.6V3" />
    <path d="M6.7 12h6.6" />
  </>,
);
export const Learnings = draw(
  <>
    <path d="M4 4.5h4.5A1.5 1.5 0 0110 6v10.5a2 2 0 00-2-1.5H4z" />
    <path d="M16 4.5h-4.5A1.5 1.5 0 0010 6v10.5a2 2 0 012-1.5h4z" />
  </>,
);
export const Jobs = draw(
  <>
    <circle cx="10" cy="10" r="6.8" />
    <path d="M10 6v4.2l2.8 1.8" />
  </>,
);
export const Governance = draw(
  <>
    <path d="M10 2.8l6 2.2v4.4c0 3.8-2.5 6.4-6 7.8-3.5-1.4-6-4-6-7.8V5z" />
    <path d="M7.4 9.9l1.9 1.9 3.4-3.6" />
  </>,
);
export const Settings = draw(
  <>
    <path d="M3.5 6.5h7M14.5 6.5h2M3.5 13.5h2M9.5 13.5h7" />
    <circle cx="12.5" cy="6.5" r="2" />
    <circle cx="7.5" cy="13.5" r="2" />
  </>,
);
export const Connect = draw(
  <>
    <path d="M7.5 3v3.5M12.5 3v3.5" />
    <path d="M5 6.5h10v2.3a5 5 0 01-10 0z" />
    <path d="M10 13.8V17" />
  </>,
);
export const Copy = draw(
  <>
    <rect x="7" y="7" width="9.5" height="9.5" rx="1.5" />
    <path d="M13 4.5A1 1 0 0012 3.5H4.5a1 1 0 00-1 1V12a1 1 0 001 1" />
  </>,
);
export const Sun = draw(
  <>
    <circle cx="10" cy="10" r="3.2" />
    <path d="M10 2.6v1.6M10 15.8v1.6M2.6 10h1.6M15.8 10h1.6M4.8 4.8l1.1 1.1M14.1 14.1l1.1 1.1M15.2 4.8l-1.1 1.1M5.9 14.1l-1.1 1.1" />
  </>,
);
export const Moon = draw(<path d="M16 11.6A6.5 6.5 0 118.4 4a5.2 5.2 0 007.6 7.6z" />);
export const System = draw(
  <>
    <rect x="3" y="4" width="14" height="9.5" rx="1.5" />
    <path d="M7.5 16.5h5" />
  </>,
);
export const Close = draw(<path d="M5.5 5.5l9 9M14.5 5.5l-9 9" />);
export const Download = draw(<path d="M10 3.5v9M6.5 9.2l3.5 3.5 3.5-3.5M4 16.5h12" />);
export const Table = draw(
  <>
    <rect x="3.5" y="4" width="13" height="12" rx="1.5" />
    <path d="M3.5 8h13M3.5 12h13M8.5 8v8" />
  </>,
);
export const Chart = draw(<path d="M4 16V9M8 16V5M12 16v-5M16 16V7" />);
export const Check = draw(<path d="M4.5 10.5l3.6 3.6 7.4-8" />);
export const Warning = draw(
  <>
    <path d="M10 3.2l7.2 12.6H2.8z" />
    <path d="M10 8v3.6M10 13.6v.2" />
  </>,
);
export const Search = draw(
  <>
    <circle cx="9" cy="9" r="5.2" />
    <path d="M13 13l3.6 3.6" />
  </>,
);
export const Arrow = draw(<path d="M7.5 4.5l5.5 5.5-5.5 5.5" />);
export const Tool = draw(
  <path d="M12.2 4.2a3.8 3.8 0 00-4.9 4.9l-4 4a1.6 1.6 0 002.3 2.3l4-4a3.8 3.8 0 004.9-4.9l-2.3 2.3-2-.4-.4-2z" />,
);
export const Book = Learnings;
export const Exit = draw(<path d="M8 4H5a1.5 1.5 0 00-1.5 1.5v9A1.5 1.5 0 005 16h3M12.5 6.5L16 10l-3.5 3.5M16 10H8" />);
